"""A GPU runs slower than it could

## What is seen
At every look (one each 15 s) for half a minute a GPU reports that its clocks are held down by heat or by the
hardware (thermal or hardware slowdown, power brake). A power cap that somebody set is not meant.

## Why it matters
It is slower than the others, and every step takes as long as its slowest rank.

## What to do
Look at cooling, power supply and `nvidia-smi -q -d PERFORMANCE` on that node; leave it out if it stays.
"""

from __future__ import annotations

from typing import Iterator

from allranks.watch.fold_nodes import gpu_name
from allranks.watch.state import RunState
from allranks.words import WARN, Finding, Where

HELD_SECONDS = 30.0
"""From the first look that saw it to the last one: three looks, one each 15 s (node/samples.py)."""

OLD_SECONDS = 45.0
"""Three looks that did not come: nobody knows what the GPU does now."""


def look(run: RunState, now: float) -> Iterator[Finding]:
    if run.quiet:
        return
    known = {r.uuid for r in run.ranks.values() if r.uuid}
    for name, node in run.nodes.items():
        ours = {
            gpu_name(gpu) for gpu in node.gpus
        } & known  # none where ranks hold slices, whose ids are others
        for gpu, at in node.throttled.items():
            looked = node.gpus_at or 0.0
            if looked - at < HELD_SECONDS or now - looked > OLD_SECONDS or (ours and gpu not in ours):
                continue
            rank = next((r.rank for r in run.ranks.values() if r.uuid == gpu), None)
            yield Finding(
                id="clocks-throttled",
                verdict=WARN,
                where=Where(node=name, rank=rank),
                saw=f"heat or hardware held down the clocks of GPU {gpu} at every look for {looked - at:.0f} s.",
                expected="clocks that only the load sets",
                why="every step of the run takes as long as its slowest GPU.",
                fix=f"nvidia-smi -q -d PERFORMANCE on {name}; cooling, power; leave the node out if it stays.",
            )


def _events(*reasons: str, until: int = 50) -> list:
    """A look at the GPUs is in every third sample."""
    gpus = [{"uuid": "GPU-0", "index": 0, "utilization": 90.0, "throttle": list(reasons)}]
    return [
        {"at": float(t), "kind": "sample", "node": "a", "data": {"gpus": gpus} if t % 15 == 1 else {}}
        for t in range(1, until, 5)
    ]


FIRES = [{"events": _events("hw_thermal_slowdown"), "now": 50.0}]
SILENT = [
    {"events": _events(), "now": 50.0},
    {"events": _events("sw_power_cap"), "now": 50.0},
    {"events": _events("hw_thermal_slowdown", until=25), "now": 100.0},
]
