"""A GPU runs slower than it could

## What is seen
For more than half a minute a GPU reports that its clocks are held down by heat or by the hardware (thermal or
hardware slowdown, power brake). A power cap that somebody set is not meant.

## Why it matters
It is slower than the others, and every step takes as long as its slowest rank.

## What to do
Look at cooling, power supply and `nvidia-smi -q -d PERFORMANCE` on that node; leave it out if it stays.
"""

from __future__ import annotations

from typing import Iterator

from allranks.watch.state import RunState
from allranks.words import WARN, Finding, Where

HELD_SECONDS = 30.0


def look(run: RunState, now: float) -> Iterator[Finding]:
    if run.quiet:
        return
    for name, node in run.nodes.items():
        for gpu, at in node.throttled.items():
            if now - at < HELD_SECONDS:
                continue
            rank = next((r.rank for r in run.ranks.values() if r.uuid == gpu), None)
            yield Finding(
                id="clocks-throttled",
                verdict=WARN,
                where=Where(node=name, rank=rank),
                saw=f"the clocks of GPU {gpu} are held down by heat or hardware for {now - at:.0f} s.",
                expected="clocks that only the load sets",
                why="every step of the run takes as long as its slowest GPU.",
                fix=f"nvidia-smi -q -d PERFORMANCE on {name}; cooling, power; leave the node out if it stays.",
            )


def _events(*reasons: str) -> list:
    gpus = [{"uuid": "GPU-0", "utilization": 90.0, "throttle": list(reasons)}]
    return [{"at": float(t), "kind": "sample", "node": "a", "data": {"gpus": gpus}} for t in range(1, 50, 5)]


FIRES = [{"events": _events("hw_thermal_slowdown"), "now": 50.0}]
SILENT = [{"events": _events(), "now": 50.0}, {"events": _events("sw_power_cap"), "now": 50.0}]
