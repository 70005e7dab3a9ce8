"""A person's machine with allranks: what the command line says and starts, and a run's own files as they change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allranks.core.run_states import FINAL as OVER
from tests.harness import ROOT, Harness, free_port

RUNS = ROOT / "tests" / "runs"
LIGHT, SCRIPTS = RUNS / "light", RUNS / "scripts"
CPU = {"count": 1, "model": "cpu"}


class Desk(Harness):
    """`desk("run", file, code=0)` calls allranks on this machine, with a home of its own."""

    every = 0.3

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None, home: Path | None = None):
        super().__init__(folder)
        self.home = home or folder / "allranks-home"
        self.begun: list[str] = []
        self.environment = {"ALLRANKS_HOME": str(self.home), **(environment or {})}

    # ---- the command line ----

    def place(self, command: list[str]) -> list[str]:
        """The command that runs this one where the person sits."""
        return command

    def command(self, *words: object) -> list[str]:
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        return self.place(["env", *settings, sys.executable, "-m", "allranks.cli", *map(str, words)])

    def __call__(
        self, *words: object, code: int | None = None, seconds: float = 400.0
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.command(*words), capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL
        )
        assert code in (None, done.returncode), (done.returncode, done.stdout[-3000:], done.stderr[-3000:])
        return done

    def json(self, *words: object, code: int | None = None) -> Any:
        """What a verb prints with --json, whatever its exit code if none is given."""
        done = self(*words, "--json", code=code)
        assert done.stdout.startswith(("{", "[")), (done.stdout[-2000:], done.stderr[-3000:])
        return json.loads(done.stdout)

    def run(self, file: object, *words: object, code: int | None = None) -> dict[str, Any]:
        """The run that this file makes, as it is when the command ends."""
        answer = self.json("run", file, *words, code=code)
        assert answer["runs"], answer
        self.begun.append(answer["runs"][0]["id"])
        return answer["runs"][0]

    def start(self, *words: object) -> subprocess.Popen[str]:
        """Begins a verb, in a session of its own."""
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        return self.begin(self.command(*words), text=True, start_new_session=True, **pipe)

    def runs(self) -> list[dict[str, Any]]:
        return self.json("ps", code=0)["runs"]

    def state(self, run_id: str) -> dict[str, Any]:
        return next(run for run in self.runs() if run["id"] == run_id)

    # ---- run files ----

    def defaults(self) -> dict[str, Any]:
        """What a run file says of the machines; three nodes that are this one."""
        return {
            "name": "loop",
            "nodes": "node-[0-2]",
            "same_host": True,
            "network": {"port": free_port()},
            "env": {"GLOO_SOCKET_IFNAME": "lo"},
        }

    def file(self, *arguments: object, script: Path = SCRIPTS / "loop.py", **keys: Any) -> Path:
        """A run file (JSON is YAML) for the script with these arguments; `keys` are further keys, or other values."""
        common = {"gpus": CPU, "train": {"command": [str(script), *map(str, arguments)]}}
        data = {**common, **self.defaults()}
        env = {**data.get("env", {}), **keys.pop("env", {})}
        path = self.folder / "run.yaml"
        path.write_text(json.dumps({**data, **({"env": env} if env else {}), **keys}, indent=1))
        return path

    def light(self, *arguments: object, env: Mapping[str, str] | None = None, **keys: Any) -> Path:
        """The same without torch: a stand-in for torchrun starts ranks that only tell their steps. For tests of
        processes, signals and ports; it saves some 15 s of a core for each start of three ranks."""
        script = {"script": SCRIPTS / "light_loop.py", "env": {"PYTHONPATH": str(LIGHT), **(env or {})}}
        return self.file(*arguments, **{**script, **keys})

    def saving(self, *arguments: object, **keys: Any) -> Path:
        """Two ranks of torch and DeepSpeed that save a small adapter by `Checkpoints`."""
        env = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        script, few = SCRIPTS / "saving_loop.py", {"nodes": "node-[0-1]", "deepspeed": "none"}
        return self.file(*arguments, script=script, env=env, **{**few, **keys})

    # ---- a run's own files: to ask `ps` again and again would take half a core from the ranks ----

    def keeper(self, run_id: str) -> Path:
        """Where the keeper of a run writes, as this test sees it."""
        return self.home / "runs" / run_id / "keeper"

    def now(self, run_id: str) -> dict[str, Any]:
        """What the keeper has written of the run's state."""
        path = self.keeper(run_id) / "state.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def trains(self, run_id: str, step: int = 1) -> dict[str, Any]:
        """The run once it has come to this step; a run that ended before it is not waited for."""

        def there() -> dict[str, Any] | None:
            state = self.now(run_id)
            reached = (state.get("step") or 0) >= step
            assert reached or state.get("state") not in OVER, state
            return state if reached else None

        return self.until(there, lambda: self.now(run_id))

    def ended(self, run_id: str, *states: str) -> dict[str, Any]:
        """The run once it is over, in one of these states."""
        self.until(lambda: self.now(run_id).get("state") in (states or OVER), lambda: self.now(run_id))
        return self.now(run_id)

    def events(self, run_id: str, kind: str | None = None) -> list[dict[str, Any]]:
        lines = (self.keeper(run_id) / "journal.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, filter(str.strip, lines)) if kind in (None, event["kind"])]

    # ---- on this machine alone ----

    def at_step(self, step: int) -> dict[str, Any]:
        """The newest run of this home once it has come to this step."""

        def made() -> list[Path]:
            runs = list(self.home.glob("runs/*/keeper/state.json"))
            over = [child for child in self.children if child.poll() is not None and child.stdout]
            assert runs or not over, over[0].communicate()[0]
            return runs

        runs = self.until(made)
        begun = {path.parents[1].name: json.loads(path.read_text())["started_at"] or 0 for path in runs}
        newest = max(begun, key=lambda name: begun[name])
        self.trains(newest, step)
        return self.state(newest)

    def left(self, seconds: float = 90.0) -> list[str]:
        """What is alive after a run's end. A supervisor may take a moment to put its last words away."""
        try:
            self.until(lambda: not self.ours(), seconds=seconds)
        except AssertionError:
            pass
        return self.ours()

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

    def close(self) -> None:
        """Stops and cleans what it started, also after a failed test."""
        for run in self.runs():
            if run["state"] not in OVER:
                self("stop", run["id"], "-y")
            self("clean", run["id"], "-y")
        super().close()
