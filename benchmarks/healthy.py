"""Odd but healthy runs, through the real supervisors and keeper: is any ended, is any error or false warning shown?

    python -m benchmarks healthy                        all that was not measured yet: half an hour, and it needs root
    KINDS=gil-busy,link-flaps SEEDS=1 …                 a piece of it; ON=here or ON=rig: without or with its nodes
    AGAIN=1 …                                           also what was measured before; FIRST=1: what failed
    STREAMS=6 MINUTES=4 …                               so many side by side; no further one begins after so long
    SHORT=500 …                                         short runs in place of the kinds, until there are so many
    KINDS=none …                                        only writes the section

Each kind (`_healthy/odd_steps.py`, `odd_process.py`, `outside.py`) runs with four seeds, which draw the moment, the
rank or node, and the length. A run is three ranks without torch that meet after every step, as in an all-reduce, in
namespaces of its own; it must train on for 16 s after what was odd, and come to its end. Where a kind needs nodes of
their own it is the rig's three. An error is a finding that ends the run, a diagnosis, an exit code, or a line of
failure in what `allranks run` prints. A warning that says something true of the kind ("the disk is full", "rank 2 does
not beat") is `said`, any other is a false alarm. Each trial's outcome is a line of benchmarks/results/healthy.jsonl
(or of RESULTS); the last one of a kind and seed counts.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks._healthy import memory, results, short
from benchmarks._healthy.trial import KINDS, on_rig, trial

TITLE = "Odd but healthy runs"
ON_REQUEST = True
SEEDS = int(os.environ.get("SEEDS", "4"))
STREAMS = int(os.environ.get("STREAMS", "6"))
MINUTES = float(os.environ.get("MINUTES", "600"))
SHORT = int(os.environ.get("SHORT", "0"))


def wanted() -> Iterator[tuple[str, int]]:
    """(kind, seed) of all trials that are asked for and were not made yet."""
    asked = [name for name in os.environ.get("KINDS", "").split(",") if name]
    place = os.environ.get("ON")
    done = results.trials()
    for seed in range(SEEDS):
        for kind in [name for name in KINDS if name in asked] if asked else KINDS:
            before = done.get((kind, seed))
            again = os.environ.get("AGAIN") or (
                before and not results.is_good(before) and os.environ.get("FIRST")
            )
            if (place is None or place == ("rig" if on_rig(kind) else "here")) and (again or not before):
                yield kind, seed


def side_by_side(jobs: Iterable[Callable[[], dict[str, Any]]]) -> None:
    """Makes them in STREAMS threads, and keeps what comes of each as it ends."""
    deadline, lock, rest = time.monotonic() + 60.0 * MINUTES, threading.Lock(), iter(jobs)

    def stream() -> None:
        while time.monotonic() < deadline:
            with lock:
                job = next(rest, None)
            if job is None:
                return
            outcome = job()
            with lock:
                results.keep(outcome)
                print(json.dumps(outcome), flush=True)

    threads = [threading.Thread(target=stream, daemon=True) for _ in range(STREAMS)]
    for thread in threads:
        thread.start()
        time.sleep(0.5)  # a start is what costs most
    for thread in threads:
        thread.join()


def measure() -> str:
    if SHORT:
        side_by_side(lambda n=n: short.batch(n) for n in short.missing(SHORT, results.shorts()))
        results.keep(memory.made())
    else:
        side_by_side(lambda k=k, s=s: trial(k, s) for k, s in wanted())
    return results.page(KINDS)
