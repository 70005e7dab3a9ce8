"""Faults on three nodes of the rig over SSH: who is named, how soon, what is left; plain torchrun beside it.

    python -m benchmarks faults                      all that was not measured yet: hours, and it needs root
    FAULTS=sigkill,sigstop PHASES=steady SEEDS=1 python -m benchmarks faults        a piece of it
    AGAIN=1 …                                        also what was measured before
    FAULTS=none …                                    only writes the section from what was measured before
    BY=ours or BY=torchrun, RANKS=4 …                one side alone; ranks a node (1; the core faults also with 4)

Each trial's outcome is a line of benchmarks/results/faults.jsonl (or of RESULTS), and the section is made of all of
them, so that the whole table can be measured piece by piece. The seed draws the node and the rank that a fault comes
to (the head and rank 0 among them where the fault can come there) and its step. Only what is said of that place
counts: `noticed` is the first warning, or the first word of the death in the journal, `named` the first finding or
diagnosis. Alarms about another place before it are counted and shown. Right or wrong is what the diagnosis says, where
there is one; each fault has statements of its own that are right. What is left is counted before anybody asks for a
stop, some seconds after a run has said that it failed. Of torchrun it is the first of its programs that ends or prints
an error, and the rank in its own "root cause". All nodes share this machine's clock. SIGINT and SIGTERM end it with
the rig.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator

from benchmarks import _fault_results as kept
from benchmarks._fault_trial import SHARED, ours, plain, stoppable
from benchmarks._faults import FAULTS
from tests.rig.rig import only_one

TITLE = "Faults on three nodes over SSH, against plain torchrun"
ON_REQUEST = True
CORE_SEEDS = 3
MANY_RANKS = 4


def chosen(variable: str, known: list[str]) -> list[str]:
    asked = os.environ.get(variable)
    return [name for name in asked.split(",") if name in known] if asked else known


def wanted() -> Iterator[tuple[str, str, str, int, int]]:
    """(by, fault, phase, seed, ranks a node) of all trials that are asked for."""
    for name in chosen("FAULTS", list(FAULTS)):
        fault = FAULTS[name]
        seeds = range(int(os.environ.get("SEEDS", str(CORE_SEEDS if fault.core else 1))))
        for phase in chosen("PHASES", list(fault.phases)):
            if phase not in fault.phases:
                continue
            for per_node in map(int, chosen("RANKS", ["1", str(MANY_RANKS)])):
                if per_node == 1 or (fault.core and phase == "steady"):
                    for seed in seeds if per_node == 1 else (0,):
                        yield "ours", name, phase, seed, per_node
            if fault.plain and not fault.goes_on:
                yield "torchrun", name, phase, 0, 1


def measure() -> str:
    done = {} if os.environ.get("AGAIN") else kept.known()
    with stoppable(), only_one(), contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, SHARED, ignore_errors=True)
        for by, name, phase, seed, per_node in wanted():
            if by in chosen("BY", ["ours", "torchrun"]) and (by, name, phase, seed, per_node) not in done:
                outcome = (ours if by == "ours" else plain)(name, phase, seed, per_node)
                kept.keep(outcome)
                print(outcome, flush=True)
    return kept.table(kept.known().values())
