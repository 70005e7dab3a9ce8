"""Two ranks are one process

## What is seen
Two ranks report the same machine, PID namespace (of a container), pid and start time.

## Why it matters
One process cannot hold two ranks: the collectives wait for a rank that does not exist.

## What to do
Read RANK and LOCAL_RANK from the environment that torchrun sets; do not set them in the script or the run file.
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
                saw=f"rank {second} and rank {first} are the same process, pid {event.data.get('pid')}.",
                expected="one process a rank",
                why="every collective waits for a rank that does not exist.",
                fix="let torchrun set RANK and LOCAL_RANK; nothing else may set them.",
            )


def _start(rank: int, pid: int, host: str = "a", pids: str = "pid:[4026531836]") -> dict:
    data = {"pid": pid, "start_time": 7, "boot_id": "boot", "host": host, "pid_namespace": pids}
    return {"at": 1.0 + rank, "kind": "start", "node": "a", "rank": rank, "data": data}


FIRES = [{"events": [_start(0, 10), _start(1, 10)]}]
SILENT = [
    {"events": [_start(0, 10), _start(1, 11)]},
    {"events": [_start(0, 10), _start(0, 10)]},
    {"events": [_start(0, 57, pids="pid:[1]"), _start(1, 57, pids="pid:[2]")]},
    {"events": [_start(0, 57, host="pod-0", pids=""), _start(1, 57, host="pod-1", pids="")]},
]
