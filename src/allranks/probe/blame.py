"""From pairs that failed, or were slow, to the nodes and links at fault. Pure.

A node whose pairs mostly fail with nodes that are themselves fine is at fault, and its pairs say nothing of the
others any more; what fails between nodes without fault is a link. Directions are judged apart: a node that
cannot be reached may well reach others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median

from allranks.probe.results import Pair

MOST_OF = 0.5
"""More than this share of a node's pairs with nodes that are fine must fail before it is the node's own fault."""

SLOW_SHARE = 0.5
"""Of the usual rate: below it a link counts as slow. A link that negotiated the next lower speed has 0.1 to 0.4 of
it (1 of 10 Gb/s, 10 of 25, 40 of 100); what two runs differ by on a shared switch is less than a third."""


@dataclass(frozen=True)
class Blame:
    """`inbound` nodes cannot be reached, `outbound` ones reach nobody; a node may be in both. `links` are single
    pairs (from, to). `everywhere` is true where no pair works, so that nobody in particular is at fault."""

    inbound: frozenset[str] = frozenset()
    outbound: frozenset[str] = frozenset()
    links: tuple[Pair, ...] = ()
    everywhere: bool = False

    @property
    def nodes(self) -> frozenset[str]:
        return self.inbound | self.outbound


def blame(tried: Collection[Pair], failed: Collection[Pair]) -> Blame:
    """The fewest nodes that explain the failed pairs, found by taking the worst one out each time."""
    failed = set(failed)
    if not failed:
        return Blame()
    if set(tried) <= failed and len({node for pair in tried for node in pair}) > 1:
        return Blame(everywhere=True)
    pairs = _Pairs(tried, failed)
    while (worst := pairs.worst()) is not None:
        pairs.guilty.append(worst)
    pairs.pardon()
    sides = pairs.guilty
    rest = sorted(pair for pair in failed if not pairs.explained(pair))
    return Blame(
        frozenset(node for node, side in sides if side == INBOUND),
        frozenset(node for node, side in sides if side == OUTBOUND),
        tuple(rest),
    )


OUTBOUND, INBOUND = 0, 1
Side = tuple[str, int]


@dataclass
class _Pairs:
    tried: Collection[Pair]
    failed: set[Pair]
    guilty: list[Side] = field(default_factory=list)

    def explained(self, pair: Pair) -> bool:
        return (pair[0], OUTBOUND) in self.guilty or (pair[1], INBOUND) in self.guilty

    def worst(self) -> Side | None:
        """The side of a node with most unexplained failures, where they are most of what it tried."""
        count: dict[Side, int] = {}
        total: dict[Side, int] = {}
        for pair in self.tried:
            if self.explained(pair):
                continue
            for side in ((pair[0], OUTBOUND), (pair[1], INBOUND)):
                total[side] = total.get(side, 0) + 1
                count[side] = count.get(side, 0) + (pair in self.failed)
        bad = [s for s, n in count.items() if n > MOST_OF * total[s] and n > 1]
        # A node that fails on both sides is the likelier one; then the share; then the name, to be the same always.
        return max(bad, key=lambda s: (self._both(s, count), count[s], count[s] / total[s], s), default=None)

    @staticmethod
    def _both(side: Side, count: Mapping[Side, int]) -> int:
        return sum(count.get((side[0], other), 0) for other in (OUTBOUND, INBOUND))

    def pardon(self) -> None:
        """Takes back whom the others' faults have come to explain altogether."""
        for side in list(self.guilty):
            self.guilty.remove(side)
            left = [p for p in self.failed if p[side[1]] == side[0] and not self.explained(p)]
            if left:
                self.guilty.append(side)


def usual(rates: Iterable[float]) -> float:
    """The rate of most links: the median. 0 where there is none."""
    found = list(rates)
    return median(found) if found else 0.0


def slow(rates: Mapping[Pair, float]) -> tuple[Blame, float]:
    """Who is slow, and the usual rate that this is measured by. Two nodes alone have no usual rate but the
    other direction's."""
    typical = usual(rates.values())
    if len(rates) == 2:
        typical = max(rates.values())
    late = {pair for pair, rate in rates.items() if rate < SLOW_SHARE * typical}
    return blame(set(rates), late), typical
