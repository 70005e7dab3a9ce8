"""Short healthy runs, one after another in one home: what is shown, and what is left of them.

`python -m benchmarks._healthy.short NUMBER` makes one batch of them in namespaces of its own; the number draws each
run's nodes, steps and pace. Prints what came of them as a line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from benchmarks._healthy.spaces import apart, files_left, outcome_of, processes_left

RUNS = 20
"""Of a batch."""

RANK = Path(__file__).resolve().parent / "rank.py"
ENDED_SECONDS = 20.0


def missing(count: int, known: list[dict[str, Any]]) -> list[int]:
    """The batches that are still to be made for so many runs."""
    done = {one["short"] for one in known if not one.get("trouble")}
    return [number for number in range(-(-count // RUNS)) if number not in done]


def batch(number: int) -> dict[str, Any]:
    return {"short": number, **outcome_of(apart("benchmarks._healthy.short", str(number)), 3600.0)}


class Batch:
    """What is counted: alarms of warn or worse, runs that did not succeed, and what is there after the last one."""

    def __init__(self, number: int):
        from tests.harness.desk import LIGHT, Desk

        self.draw, self.light = Random(number), str(LIGHT)
        self.desk = Desk(Path("/tmp/desk"), {"HOME": "/tmp/user"})
        for path in ("/tmp/desk", "/tmp/user", "/tmp/trial"):
            Path(path).mkdir()
        self.kept: list[list[int]] = []
        self.outcome: dict[str, Any] = {"runs": 0, "steps": 0, "bad": [], "alarms": [], "left": []}

    def one(self) -> None:
        nodes, steps = self.draw.choice((1, 1, 1, 2, 3)), self.draw.randint(5, 60)
        pace = self.draw.choice((0.0, 0.01, 0.05))
        words = ["--folder", "/tmp/trial", "--steps", steps, "--seconds", pace]
        names = "node-0" if nodes == 1 else f"node-[0-{nodes - 1}]"
        file = self.desk.file(*words, script=RANK, nodes=names, env={"PYTHONPATH": self.light})
        words = self.desk.command("run", file, "--no-probe", "--json")
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, stdin=subprocess.DEVNULL) as child:
            out, err = child.communicate(timeout=300)
        runs = json.loads(out)["runs"] if out.startswith("{") else []
        self.outcome["runs"] += 1
        if child.returncode or not runs or runs[0]["state"] != "succeeded" or runs[0]["step"] != steps:
            told = f"{runs[0]['state']} at step {runs[0]['step']} of {steps}" if runs else out + err
            self.outcome["bad"].append(f"code {child.returncode}: {' '.join(told.split())[-300:]}")
            return
        self.outcome["steps"] += steps
        journal = Path(runs[0]["directory"], "keeper", "journal.jsonl").read_text()
        events = [json.loads(line) for line in journal.splitlines()]
        begun = next((n for n, e in enumerate(events) if e["data"].get("state") == "running"), 0)
        found = [e["data"] for e in events[begun:] if e["kind"] == "finding"]
        self.outcome["alarms"] += [f["id"] for f in found if f["verdict"] in ("warn", "block")]
        for path in Path("/tmp/trial").iterdir():
            path.unlink()

    def run(self) -> dict[str, Any]:
        before = self.held()
        for _ in range(RUNS):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.one()
            self.kept.append(self.held())
        deadline = time.monotonic() + ENDED_SECONDS
        while (living := processes_left()) and time.monotonic() < deadline:
            time.sleep(0.3)
        home = {"bundles", "cache", "index", "runs"}
        self.outcome["left"] = living + files_left(("desk", "user", "trial"))
        self.outcome["left"] += [str(p) for p in self.desk.home.iterdir() if p.name not in home]
        self.outcome["left"] += [str(p) for p in Path("/tmp/user").iterdir()]
        runs = len(list((self.desk.home / "runs").iterdir()))
        self.outcome["left"] += [f"{runs} run folders of {RUNS}"] if runs != RUNS else []
        self.desk("clean", "--files", "-y", code=0)
        self.outcome["left"] += [f"after clean: {p}" for p in (self.desk.home / "runs").iterdir()]
        self.outcome["held"] = [before, *self.kept]
        return self.outcome

    def held(self) -> list[int]:
        """Files in the home outside of runs, in /tmp and in /dev/shm; sockets of the kernel's own list."""
        outside = (
            [p for p in self.desk.home.rglob("*") if "runs" not in p.parts] if self.desk.home.exists() else []
        )
        unix = len(Path("/proc/net/unix").read_text().splitlines())
        return [len(outside), len(list(Path("/tmp").iterdir())), len(list(Path("/dev/shm").iterdir())), unix]


def main() -> int:
    print(json.dumps(Batch(int(sys.argv[1])).run()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
