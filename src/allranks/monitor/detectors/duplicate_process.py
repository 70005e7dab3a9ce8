"""Two ranks are one process.

## How it is found
Two ranks report the same machine, PID namespace (of a container), pid and start time.

## Why it matters
One process cannot hold two ranks: the collectives wait for a rank that does not exist.

## What to do
Read RANK and LOCAL_RANK from the environment that torchrun sets; do not set them in the script or the run file.

Topic: start
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import BLOCK, Event, Finding, Where
from allranks.monitor.run_state import RunState

AFTER = ("start",)


def after(run: RunState, event: Event) -> Iterator[Finding]:
    for kind, first, second in run.clashes[-4:]:
        if kind == "process" and second == event.rank:
            yield Finding(
                id="duplicate-process",
                verdict=BLOCK,
                where=Where(node=run.rank(second).node, rank=second),
                saw=f"rank {second} and rank {first} are the same process, pid {event.payload.pid}.",
                expected="one process per rank",
                why="every collective waits for a rank that does not exist.",
                fix="let torchrun set RANK and LOCAL_RANK; nothing else may set them.",
            )
