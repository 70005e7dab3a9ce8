"""Starts real runs of `scripts/loop.py` on three local nodes through the command line, as a user does."""

from __future__ import annotations

import itertools
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LIGHT = Path(__file__).parent / "light"
SCRIPTS = Path(__file__).parent / "scripts"
ALLRANKS = [sys.executable, "-m", "allranks.cli"]


def ports_of_worker(worker: str) -> Iterator[int]:
    """The ports of one worker of pytest, over and over, from a place by chance: two never get the same one, and nobody
    gets one twice in a row."""
    mine = range(20000, 28800)[int(worker.removeprefix("gw") or 0) % 8 :: 8]
    start = random.randrange(len(mine))
    return itertools.cycle([*mine[start:], *mine[:start]])


PORTS = ports_of_worker(os.environ.get("PYTEST_XDIST_WORKER", ""))


def free_port() -> int:
    """A port that nobody holds and that the kernel hands to nobody who asks for any: a run needs it seconds later, and
    its own sockets would get one that was free a moment ago."""
    for port in itertools.islice(PORTS, 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise AssertionError("100 ports in a row are taken")


@dataclass
class Runner:
    """One home, any number of runs in it."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return Path(os.environ["ALLRANKS_HOME"])

    def file(self, *arguments: object, **more: Any) -> Path:
        """A run file for the loop with these arguments; `more` are further top-level keys."""
        command = [str(SCRIPTS / "loop.py"), *map(str, arguments)]
        data = {
            "name": "loop",
            "nodes": "node-[0-2]",
            "same_host": True,
            "gpus": {"count": 1, "model": "cpu"},
            "network": {"port": free_port()},
            "train": {"command": command},
            "env": {"GLOO_SOCKET_IFNAME": "lo", **more.pop("env", {})},
            **more,
        }
        path = self.folder / "run.yaml"
        path.write_text(json.dumps(data, indent=1))
        return path

    def light(self, *arguments: object, **more: Any) -> Path:
        """The same without torch: a stand-in for torchrun starts ranks that only tell their steps. For tests of
        processes, signals and ports; it saves some 15 s of a core for each start of three ranks."""
        path = self.file(*arguments, **more)
        data = json.loads(path.read_text())
        data["train"]["command"][0] = str(SCRIPTS / "light_loop.py")
        data["env"]["PYTHONPATH"] = str(LIGHT)
        path.write_text(json.dumps(data, indent=1))
        return path

    def call(
        self, *words: object, code: int | None = None, seconds: float = 300
    ) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [*ALLRANKS, *map(str, words)],
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
        )
        if code is not None:
            assert done.returncode == code, (done.returncode, done.stdout[-3000:], done.stderr[-3000:])
        return done

    def json(self, *words: object, code: int | None = None) -> dict[str, Any]:
        done = self.call(*words, "--json", code=code)
        return json.loads(done.stdout)

    def start(self, *words: object) -> subprocess.Popen:
        return subprocess.Popen(
            [*ALLRANKS, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **self.environment},
            start_new_session=True,
        )

    def runs(self) -> list[dict[str, Any]]:
        return self.json("ps", code=0)["runs"]

    def wait_for(self, test, seconds: float = 240.0, every: float = 0.3) -> Any:
        """Polls `test` until it returns something true."""
        deadline = time.monotonic() + seconds
        while True:
            value = test()
            if value:
                return value
            assert time.monotonic() < deadline, f"{test} did not come true within {seconds} s"
            time.sleep(every)

    def events(self, run_id: str) -> list[dict[str, Any]]:
        path = self.home / "runs" / run_id / "keeper" / "journal.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]

    def at_step(self, step: int) -> Any:
        """The newest run once it has come to this step; a run that failed before it is not waited for."""

        def there() -> bool:
            # `ps` again and again would take half a core from the ranks that are waited for.
            known = [json.loads(path.read_text()) for path in self.home.glob("runs/*/keeper/state.json")]
            run = max(known, key=lambda one: one["started_at"] or 0, default={})
            reached = (run.get("step") or 0) >= step
            assert reached or run.get("state") != "failed", run.get("diagnosis")
            return reached

        self.wait_for(there)
        return self.runs()[0]

    def left(self, seconds: float = 90.0) -> list[str]:
        """What is alive after a run's end. A supervisor may take a moment to put its last words away."""
        deadline = time.monotonic() + seconds
        while (found := self.ours()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    def ours(self) -> list[str]:
        """The command lines of all live processes that belong to a run of this home."""
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                environ = (folder / "environ").read_bytes()
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except (OSError, IndexError):
                continue
            if state in "ZX" or (str(self.home).encode() not in environ and str(self.home) not in command):
                continue
            found.append(f"{folder.name} {command}")
        return found
