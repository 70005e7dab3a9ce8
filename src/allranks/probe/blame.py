"""From pairs that failed, or were slow, to the nodes and links at fault. Pure.

A node is at fault if most of its pairs with healthy nodes fail; its pairs then do not count against the others. A pair
that fails between healthy nodes is a broken link. Each direction is judged by itself: a node that cannot be reached may
reach others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from statistics import median

from allranks.probe.results import Pair

MOST_OF = 0.5
"""A node is at fault if more than this share of its pairs with healthy nodes fail."""

SLOW_SHARE = 0.5
"""A link below this share of the usual rate counts as slow. A link that negotiated the next lower speed has 0.1 to 0.4
of it (1 of 10 Gb/s, 10 of 25, 40 of 100); two measurements over a shared switch differ by less than a third."""


@dataclass(frozen=True)
class Blame:
    """`inbound` nodes cannot be reached, `outbound` ones reach nobody; a node may be in both. `links` are single pairs
    (from, to). `everywhere`: no pair works, so no node in particular is at fault."""

    inbound: frozenset[str] = frozenset()
    outbound: frozenset[str] = frozenset()
    links: tuple[Pair, ...] = ()
    everywhere: bool = False

    @property
    def nodes(self) -> frozenset[str]:
        return self.inbound | self.outbound


def blame(tried: Collection[Pair], failed: Collection[Pair]) -> Blame:
    """The fewest nodes that explain the failed pairs: each time the worst one is taken out."""
    failed = set(failed)
    if not failed:
        return Blame()
    if set(tried) <= failed and len({node for pair in tried for node in pair}) > 1:
        return Blame(everywhere=True)
    pairs = _Pairs(tried, failed)
    while (worst := pairs.worst()) is not None:
        pairs.guilty.append(worst)
    pairs.pardon()
    return Blame(
        frozenset(node for node, side in pairs.guilty if side == INBOUND),
        frozenset(node for node, side in pairs.guilty if side == OUTBOUND),
        tuple(sorted(pair for pair in failed if not pairs.explained(pair))),
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
        """The side of a node with most unexplained failures, if most of its pairs fail."""
        count: Counter[Side] = Counter()
        total: Counter[Side] = Counter()
        for pair in self.tried:
            if self.explained(pair):
                continue
            for side in ((pair[0], OUTBOUND), (pair[1], INBOUND)):
                total[side] += 1
                count[side] += pair in self.failed
        bad = [s for s, n in count.items() if n > MOST_OF * total[s] and n > 1]

        def weight(side: Side) -> tuple[int, int, float, Side]:
            """Failures on both sides of the node first; then this side's; the name makes the result always the same."""
            both = count[side[0], OUTBOUND] + count[side[0], INBOUND]
            return both, count[side], count[side] / total[side], side

        return max(bad, key=weight, default=None)

    def pardon(self) -> None:
        """Takes back nodes whose failures the other guilty nodes explain."""
        for side in list(self.guilty):
            self.guilty.remove(side)
            left = [p for p in self.failed if p[side[1]] == side[0] and not self.explained(p)]
            if left:
                self.guilty.append(side)


def slow(rates: Mapping[Pair, float]) -> tuple[Blame, float]:
    """What is slow, and the usual rate: the median. Of two nodes alone it is the faster direction's."""
    if not rates:
        return Blame(), 0.0
    typical = max(rates.values()) if len(rates) == 2 else median(rates.values())
    late = {pair for pair, rate in rates.items() if rate < SLOW_SHARE * typical}
    return blame(set(rates), late), typical
