"""A GPU runs slower than it could.

## How it is found
For half a minute, at every sample (one each 15 s), a GPU reports that heat or the hardware limits its clocks
(thermal or hardware slowdown, power brake). A power cap that an administrator set does not count.

## Why it matters
This GPU is slower than the others, and every step takes as long as its slowest rank.

## What to do
Look at cooling, power supply and `nvidia-smi -q -d PERFORMANCE` on that node; leave the node out if it stays slow.

Topic: gpus
"""

from __future__ import annotations

from typing import Iterator, Optional, Sequence

from allranks.core import WARN, Finding, Where
from allranks.monitor.aggregation import apart, gpus_named
from allranks.monitor.node_event_handlers import gpu_name
from allranks.monitor.run_state import RunState

HELD_SECONDS = 30.0
"""Seconds from the first sample that shows it to the last one: three samples, one each 15 s (node/samples.py)."""

OLD_SECONDS = 45.0
"""Three samples in a row did not come: the GPU's present state is unknown."""


def detect(run: RunState, now: float) -> Iterator[Finding]:
    if run.quiet:
        return
    known = {r.uuid: r.rank for r in run.ranks.values() if r.uuid}
    for name, node in run.nodes.items():
        looked = node.gpus_at or 0.0
        # No rank is named if the ranks hold slices, because slices have other ids.
        ours = {gpu_name(gpu) for gpu in node.gpus} & set(known)
        slowed = [gpu for gpu, at in node.throttled.items() if looked - at >= HELD_SECONDS]
        slowed = sorted(gpu for gpu in slowed if not ours or gpu in ours)
        if not slowed or now - looked > OLD_SECONDS:
            continue
        for gpus in apart(slowed):  # if the inlet air is too warm for many GPUs, that is one fact
            since = looked - max(node.throttled[gpu] for gpu in gpus)
            yield _finding(name, gpus, since, known.get(gpus[0]) if len(gpus) == 1 else None)


def _finding(node: str, gpus: Sequence[str], since: float, rank: Optional[int]) -> Finding:
    return Finding(
        id="clocks-throttled",
        verdict=WARN,
        where=Where(node=node, rank=rank),
        saw=f"heat or hardware limited the clocks of {gpus_named(gpus)} in every sample for {since:.0f} s.",
        expected="clocks that only the load sets",
        why="every step of the run takes as long as its slowest GPU.",
        fix=f"nvidia-smi -q -d PERFORMANCE on {node}; cooling, power; leave the node out if it stays.",
    )
