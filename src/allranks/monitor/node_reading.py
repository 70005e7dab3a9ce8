"""How the ranks of each node read the base model together."""

from __future__ import annotations

from typing import Dict, Iterable, List, NamedTuple

from allranks.core.text import printable
from allranks.monitor.base_reading import BaseReading
from allranks.monitor.run_state import RunState

FRESH_SECONDS = 5.0
"""A rank whose last heartbeat is older is not judged here: other detectors watch for missing heartbeats."""


class NodeReading(NamedTuple):
    """The ranks of one node together."""

    node: str
    ranks: int
    read: float
    """Bytes in `seconds`."""
    left: float
    seconds: float
    moved_at: float
    source: str
    reading: int
    """The ranks that read now."""
    retries: int
    error: str

    @property
    def rate(self) -> float:
        """Bytes per second; 0 without a measured time."""
        return self.read / self.seconds if self.seconds > 0 else 0.0


def by_node(run: RunState, now: float) -> List[NodeReading]:
    """The nodes whose ranks have read the base model themselves."""
    found: Dict[str, List[BaseReading]] = {}
    counts: Dict[str, int] = {}
    for rank in run.ranks.values():
        one = rank.base
        if one is None or rank.node is None or not rank.alive:
            continue
        found.setdefault(rank.node, []).append(one)
        is_heard = rank.beat_at is not None and now - rank.beat_at <= FRESH_SECONDS
        counts[rank.node] = counts.get(rank.node, 0) + (not one.is_over and one.done < one.total and is_heard)
    return [of_node(name, ranks, counts[name]) for name, ranks in found.items()]


def of_node(name: str, ranks: List[BaseReading], reading: int) -> NodeReading:
    return NodeReading(
        name,
        len(ranks),
        sum(one.done - one.begun for one in ranks),
        sum(one.total - one.done for one in ranks),
        max(one.seconds for one in ranks),
        max(one.moved_at for one in ranks),
        source(ranks),
        reading,
        sum(one.retries for one in ranks),
        printable(next((one.error for one in ranks if one.error), "unknown"), 120),
    )


def source(ranks: Iterable[BaseReading]) -> str:
    """Where most of the ranks' bytes come from: `storage`, `memory` or `cache`; empty if that is unknown."""
    totals: Dict[str, float] = {}
    for one in ranks:
        totals[one.source] = totals.get(one.source, 0.0) + one.total
    return max(totals, key=lambda name: totals[name], default="")
