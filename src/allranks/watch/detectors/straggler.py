"""One rank is persistently slower than the rest

## What is seen
Over its last steps one rank (or all ranks of one node) waited longer for its data than the middle of all ranks,
by more than a tenth of a step and by more than three times the spread, at three looks after each other.

## Why it matters
Every step takes as long as its slowest rank: the others' share of that time is lost on every GPU. Collectives make
all steps equally long, so only what lies before them tells who is late.

## What to do
Look at that node: CPU load, storage, a noisy neighbour, the number of loader workers. The report has each
rank's waiting.
"""

from __future__ import annotations

from statistics import median
from typing import Dict, Iterator, List

from allranks.watch.machine import remarks
from allranks.watch.pace import step_seconds
from allranks.watch.state import RankState, RunState
from allranks.words import NOTE, WARN, Finding, Where

SHARE = 0.10
"""Stragglers reported from large clusters were about 10 % slow (published studies of fail-slow training, such as
Greyhound's); below that it is noise."""

SPREADS = 3.0
MAD_TO_SIGMA = 1.4826
"""The median absolute deviation of a normal distribution, as its standard deviation."""

ENOUGH_STEPS = 20
LOOKS = 3
EVERY_SECONDS = 10.0
LEAST_SECONDS = 0.02
"""Below that a wait is the cost of fetching a batch that is there."""


def look(run: RunState, now: float) -> Iterator[Finding]:
    memory = run.memory_of("straggler")
    if run.quiet or now - memory.get("at", -1e9) < EVERY_SECONDS:
        return
    memory["at"] = now
    waits = {r.rank: _wait(r) for r in run.ranks.values() if r.alive and len(r.data_seconds) >= ENOUGH_STEPS}
    step = step_seconds(run)
    held: Dict[int, int] = memory.setdefault("held", {})
    late = _late(waits, step) if step is not None and len(waits) >= 2 else []
    for rank in list(held):
        if rank not in late:
            del held[rank]
    for rank in late:
        held[rank] = held.get(rank, 0) + 1
    known = [rank for rank in late if held[rank] >= LOOKS]
    if known and step is not None:
        yield from _findings(run, known, waits, step)


def _wait(rank: RankState) -> float:
    return median(list(rank.data_seconds)[-ENOUGH_STEPS:])


def _late(waits: Dict[int, float], step: float) -> List[int]:
    """Ranks whose wait stands out; a minority, or it is the run's own pace."""
    middle = median(waits.values())
    spread = MAD_TO_SIGMA * median(abs(w - middle) for w in waits.values())
    limit = middle + max(SHARE * step, SPREADS * spread, LEAST_SECONDS)
    late = sorted(rank for rank, wait in waits.items() if wait > limit)
    return late if len(late) <= max(1, len(waits) // 2) else []


def _findings(run: RunState, late: List[int], waits: Dict[int, float], step: float) -> Iterator[Finding]:
    middle = median(waits.values())
    for rank in late[:8]:
        more = waits[rank] - middle
        node = run.rank(rank).node
        whole = all(r.rank in late for r in run.ranks.values() if r.node == node)
        yield Finding(
            id="straggler",
            verdict=WARN if more > 2 * SHARE * step else NOTE,
            where=Where(node=node, rank=None if whole and len(late) > 1 else rank),
            saw=f"rank {rank} waits {waits[rank]:.2f} s a step for its data, the middle of all ranks {middle:.2f} s.",
            expected=f"within {SHARE:.0%} of a step ({step:.2f} s) of the others",
            why=f"every step of every rank takes about {more:.2f} s longer for it ({more / step:.0%}).",
            fix=f"look at {node}: CPU, storage, the loader's workers.",
            evidence=tuple(remarks(run, node)),
        )


def _run(slow: float, ranks: int = 4, seconds: int = 60) -> list:
    """Ranks that take a step a second, of which rank 2 waits `slow` seconds for its data."""
    return [
        {
            "at": float(second),
            "kind": "beat",
            "node": "ab"[rank // 2],
            "rank": rank,
            "data": {
                "phase": "training",
                "step": second,
                "steps": [[second, 3.0, 1.0, slow if rank == 2 else 0.05 + 0.01 * (second % 3), 1, 1e-5]],
            },
        }
        for second in range(1, seconds)
        for rank in range(ranks)
    ]


FIRES = [{"events": _run(0.4)}]
SILENT = [{"events": _run(0.07)}, {"events": _run(0.4, seconds=15)}]
