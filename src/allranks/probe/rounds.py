"""Which pairs are measured together: in a round each node is in one pair at most, so that none disturbs another.
Pure."""

from __future__ import annotations

from collections.abc import Sequence

from allranks.probe.results import Pair

MOST_ROUNDS = 15
"""All pairs of up to 16 nodes. A round takes about 1 s: all pairs of 100 nodes (99 rounds) would take minutes."""


def tournament(nodes: Sequence[str]) -> list[list[Pair]]:
    """All pairs in the fewest rounds (N-1, or N if N is odd), by the circle method of round-robin tournaments."""
    seats: list[str | None] = [*nodes, *([None] if len(nodes) % 2 else [])]
    rounds = []
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        facing = zip(seats[:half], reversed(seats[half:]), strict=True)
        rounds.append([(a, b) for a, b in facing if a is not None and b is not None])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return [pairs for pairs in rounds if pairs]


def chosen(nodes: Sequence[str], most: int | None = MOST_ROUNDS) -> list[list[Pair]]:
    """At most `most` rounds, spread evenly over the tournament; None means all. Each node is in each round (with an odd
    number of nodes one sits out), so every node meets about `most` others."""
    rounds = tournament(nodes)
    if most is None or len(rounds) <= most:
        return rounds
    return [rounds[i * len(rounds) // most] for i in range(most)]
