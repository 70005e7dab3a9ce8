"""Finds the nodes and links at fault from the pairs that failed or were slow. Pure.

A node is at fault if most of its pairs with healthy nodes fail; its pairs then do not count against the others. A pair
that fails between healthy nodes is a broken link. Each direction is judged alone: a node that cannot be reached may
still reach others.
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
    """`inbound` nodes cannot be reached, `outbound` nodes cannot reach others; a node may be in both. `links` are
    single pairs (from, to). If `everywhere`, no pair works, so the fault cannot be assigned to single nodes."""

    inbound: frozenset[str] = frozenset()
    outbound: frozenset[str] = frozenset()
    links: tuple[Pair, ...] = ()
    everywhere: bool = False

    @property
    def nodes(self) -> frozenset[str]:
        return self.inbound | self.outbound


def blame(tried: Collection[Pair], failed: Collection[Pair]) -> Blame:
    """The few nodes that explain the failed pairs. The worst node is found first, then the worst of the rest, and so
    on."""
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
        """The side (node, direction) with most unexplained failures among those on which most pairs fail; None if there
        is none."""
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
            """Compares by the node's failures in both directions, then by those of this side. The name comes last, so
            that the result is always the same."""
            both = count[side[0], OUTBOUND] + count[side[0], INBOUND]
            return both, count[side], count[side] / total[side], side

        return max(bad, key=weight, default=None)

    def pardon(self) -> None:
        """Removes nodes from the guilty ones if the others explain all their failures."""
        for side in list(self.guilty):
            self.guilty.remove(side)
            left = [p for p in self.failed if p[side[1]] == side[0] and not self.explained(p)]
            if left:
                self.guilty.append(side)


def slow(rates: Mapping[Pair, float]) -> tuple[Blame, float]:
    """(the blame for slow transfers, the usual rate)."""
    if not rates:
        return Blame(), 0.0
    typical = usual(rates)
    late = {pair for pair, rate in rates.items() if rate < SLOW_SHARE * typical}
    return blame(set(rates), late), typical


def usual(rates: Mapping[Pair, float]) -> float:
    """The median. With only two directions it is the faster one. With three nodes it is the second fastest of the six:
    a slow node is in four of them, and one figure may be too high. A caller with one figure for both directions thus
    gets the fastest pair."""
    if len(rates) > 2 and len({node for pair in rates for node in pair}) <= 3:
        return sorted(rates.values())[-2]
    return max(rates.values()) if len(rates) == 2 else median(rates.values())
