"""A node's memory is running out

## What is seen
The ranks of a node grow steadily, and at this pace the node's free memory ends within an hour; or less than three
percent of it is free.

## Why it matters
The kernel then kills a rank (exit code -9), mostly in the middle of the night, and the run with it.

## What to do
Fewer loader workers, no lists of tensors kept over steps, data that is mapped instead of held; save more often.
"""

from __future__ import annotations

from typing import Iterator, List, Optional, Tuple

from allranks.watch.state import RunState
from allranks.words import WARN, Finding, Where

EVERY_SECONDS = 30.0
SPAN_SECONDS = 600.0
"""Allocators, caches and workers warm up for minutes: a slope over less is not one."""

POINTS = 20
HORIZON_SECONDS = 3600.0
GROWTH = 0.10
RISING = 0.75
"""Share of the steps between points that must rise: a saw-tooth of saves and evaluations does not."""

FREE_SHARE = 0.03


def look(run: RunState, now: float) -> Iterator[Finding]:
    memory = run.memory_of("memory-climbing")
    if run.quiet or now - memory.get("at", -1e9) < EVERY_SECONDS:
        return
    memory["at"] = now
    for name, node in run.nodes.items():
        total, free = node.sample.get("memory_total_bytes"), node.sample.get("memory_available_bytes")
        if not isinstance(total, int) or not isinstance(free, int) or total <= 0:
            continue
        if free < FREE_SHARE * total:
            yield _finding(name, f"{_gib(free)} of {_gib(total)} are free ({free / total:.1%}).", "")
            continue
        slopes = [_slope(r.memory) for r in run.ranks.values() if r.node == name and r.alive]
        growing = [s for s in slopes if s is not None]
        pace = sum(growing)
        if growing and pace > 0 and free / pace < HORIZON_SECONDS:
            saw = (
                f"its ranks grow by {_gib(int(pace * 3600))} an hour; {_gib(free)} of {_gib(total)} are free."
            )
            yield _finding(name, saw, f"at this pace it is full in {free / pace / 60:.0f} minutes")


def _finding(name: str, saw: str, when: str) -> Finding:
    return Finding(
        id="memory-climbing",
        verdict=WARN,
        where=Where(node=name),
        saw=saw,
        expected="memory that stays level after the first minutes",
        why=(when or "next to nothing is left") + "; the kernel then kills a rank.",
        fix="fewer loader workers, nothing kept over steps; save before it is full.",
    )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


def _slope(points: List[Tuple[float, int]]) -> Optional[float]:
    """Bytes a second over the last half of what is known, where it rises all the time; None where it does not."""
    recent = points[len(points) // 2 :]
    if len(recent) < POINTS or recent[-1][0] - recent[0][0] < SPAN_SECONDS / 2:
        return None
    rises = sum(1 for n in range(1, len(recent)) if recent[n][1] > recent[n - 1][1])
    grown = recent[-1][1] - recent[0][1]
    if rises < RISING * (len(recent) - 1) or grown < GROWTH * recent[0][1] / 2:
        return None
    return grown / (recent[-1][0] - recent[0][0])


def _run(growth: int, free: int = 8 << 30) -> list:
    """A rank of 4 GiB that grows by so many bytes a second for 20 minutes."""
    beats = [
        {
            "at": float(second),
            "kind": "beat",
            "node": "a",
            "rank": 0,
            "data": {
                "phase": "training",
                "rss_bytes": (4 << 30) + growth * second + (second % 7) * (1 << 18),
            },
        }
        for second in range(0, 1200, 5)
    ]
    sample = {"memory_total_bytes": 64 << 30, "memory_available_bytes": free}
    return [*beats, {"at": 1200.0, "kind": "sample", "node": "a", "data": sample}]


FIRES = [{"events": _run(4 << 20), "now": 1230.0}, {"events": _run(0, free=1 << 30), "now": 1230.0}]
SILENT = [{"events": _run(0), "now": 1230.0}, {"events": _run(4 << 20, free=60 << 30)[:100], "now": 1230.0}]
