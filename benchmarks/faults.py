"""Faults on three nodes: who is named, how soon, what is left; plain torchrun beside it.

    python -m benchmarks faults                      all that was not measured yet: hours, and it needs root
    KINDS=sigkill,sigstop PHASES=steady SEEDS=1 python -m benchmarks faults        a piece of it
    DRAWN=1-40 …                                     these trials of the second series (DRAWN=7: that one alone)
    AT_ONCE=3 …                                      so many trials side by side on this machine
    AGAIN="the reason" …                             also what was measured before; the reason is kept and published
    OLDER=10 AGAIN=… KINDS=none DRAWN=none …         a sample of the trials that only have rows of the older form
    KINDS=none DRAWN=none …                          only writes the section from what was measured before
    BY=ours or BY=torchrun, ON=here or ON=rig, RANKS=4 …     one side alone; ranks a node (1; core faults also with 4)

Faults of networks and of a whole machine come to nodes of the rig over SSH, one trial at a time; all others to three
nodes that are this machine, with torch and gloo as anywhere, some side by side: they mostly wait. Each trial is a
process of its own, and its outcome a line of benchmarks/results/faults.jsonl (or of RESULTS); the section is made of
all of them, so that it can be measured piece by piece. In the table a seed draws the node and the rank that a fault
comes to (the head and rank 0 among them where it can come there), and its step. In the second series the seed draws the
kind, too, and the moment, from all kinds, and in one of four trials two faults at once: either is right, with its own
place.

Only what is said of that place counts: `noticed` is the first warning, or the first word of the death in the journal,
`named` the first finding or diagnosis. Alarms about another place before it are counted and shown. Right or wrong is
what the diagnosis says, where there is one; each fault has statements of its own that are right. What is left is
counted before anybody asks for a stop, some seconds after a run has said that it failed. On every machine processes
and files that only look like the run's stay beside it until it was cleaned. Of torchrun it is the first of its programs
that ends or prints an error, and the rank in its own "root cause". SIGINT and SIGTERM end it with all it began.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from benchmarks import _fault_results as kept
from benchmarks._fault_judge import faults_of
from benchmarks._fault_results import Outcome
from benchmarks._fault_torchrun import plain
from benchmarks._fault_trial import ours, stoppable
from benchmarks._faults import FAULTS
from tests.rig.rig import only_one

TITLE = "Faults on three nodes, against plain torchrun"
ON_REQUEST = True
CORE_SEEDS = 3
MANY_RANKS = 4
DRAWN = 40


def chosen(variable: str, known: list[str]) -> list[str]:
    asked = os.environ.get(variable)
    return [name for name in asked.split(",") if name in known] if asked else known


def wanted() -> Iterator[Outcome]:
    """All trials that are asked for, not begun."""
    for name in chosen("KINDS", list(FAULTS)):
        fault = FAULTS[name]
        seeds = range(int(os.environ.get("SEEDS", str(CORE_SEEDS if fault.core else 1))))
        for phase in chosen("PHASES", list(fault.phases)):
            if phase not in fault.phases:
                continue
            for per_node in map(int, chosen("RANKS", ["1", str(MANY_RANKS)])):
                if per_node == 1 or (fault.core and phase == "steady"):
                    for seed in seeds if per_node == 1 else (0,):
                        yield kept.begun("ours", name, phase, seed, per_node)
            if fault.plain and not fault.goes_on and phase == fault.phases[-1]:
                yield kept.begun("torchrun", name, phase, 0, 1)
    first, _, last = os.environ.get("DRAWN", f"1-{DRAWN}").partition("-")
    for number in range(int(first), int(last or first) + 1) if first != "none" else ():
        yield kept.drawn(number)
    yield from kept.older(int(os.environ.get("OLDER", "0")))


def needs_rig(outcome: Outcome) -> bool:
    return any(fault.rig for fault in faults_of(outcome))


def measure() -> str:
    again, done = os.environ.get("AGAIN", ""), {k: o for k, o in kept.known().items() if not o.trouble}
    todo = [
        o for o in wanted() if o.by in chosen("BY", ["ours", "torchrun"]) and (again or o.key not in done)
    ]
    for outcome in todo:
        outcome.again = again if outcome.key in done else ""
    lanes: dict[str, list[Outcome]] = {"here": [], "rig": []}
    for outcome in todo:
        lanes["rig" if needs_rig(outcome) else "here"].append(outcome)
    with stoppable(), Lanes() as running, contextlib.ExitStack() as stack:
        asked = chosen("ON", list(lanes))
        if lanes["rig"] and "rig" in asked:
            stack.enter_context(only_one())
            running.add(lanes["rig"], 1)
        if "here" in asked:
            running.add(lanes["here"], int(os.environ.get("AT_ONCE", "2")))
        running.wait()
    return kept.table(kept.tries())


class Lanes:
    """Trials side by side: each is a process, so that the end of one, whatever it is, ends no other."""

    def __init__(self) -> None:
        self.pools: list[ThreadPoolExecutor] = []
        self.processes: set[subprocess.Popen[str]] = set()
        self.over = threading.Event()
        self.folder = Path(tempfile.mkdtemp(prefix="allranks-faults-"))
        self.local = threading.local()

    def __enter__(self) -> Lanes:
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for process in list(self.processes):
            process.terminate()
        for pool in self.pools:
            pool.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, outcomes: list[Outcome], at_once: int) -> None:
        pool = ThreadPoolExecutor(at_once)
        self.pools.append(pool)
        for outcome in outcomes:
            pool.submit(self.trial, outcome)

    def wait(self) -> None:
        for pool in self.pools:
            pool.shutdown()

    def trial(self, outcome: Outcome) -> None:
        if self.over.is_set():
            return
        if not hasattr(self.local, "home"):  # a lane's home keeps the slow facts of this machine
            self.local.home = tempfile.mkdtemp(dir=self.folder)
        words = [sys.executable, "-m", "benchmarks.faults", json.dumps(asdict(outcome)), self.local.home]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.processes.add(process)
        said, _ = process.communicate()
        self.processes.discard(process)
        if self.over.is_set():
            return
        lines = [line for line in said.splitlines() if line.startswith("{")]
        found = Outcome(**json.loads(lines[-1])) if lines else outcome
        if not lines:
            found.trouble = f"the trial ended with code {process.returncode}"
        kept.keep(found)
        print(found, flush=True)


def main(row: str, home: str) -> int:
    outcome = Outcome(**json.loads(row))
    with stoppable():
        outcome = (ours if outcome.by == "ours" else plain)(outcome, Path(home))
    print(json.dumps(asdict(outcome)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
