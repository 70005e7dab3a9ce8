"""One rank is in another collective than the rest

## What is seen
The flight recorders, read at a stall, show one rank at another sequence number or in another operation than most.

## Why it matters
That is the rank that the others wait for: it is late, or it took another path through the code.

## What to do
Read its stack. Behind in number: it is late or stuck. Same number, other operation or size: the code differs on
that rank (a collective under `if rank == 0`, an uneven number of batches).
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Iterator, Mapping, Tuple

from allranks.watch.state import RunState
from allranks.words import WARN, Finding, Where

ENOUGH = 2
"""Ranks that must agree before another one is called different."""


def look(run: RunState, now: float) -> Iterator[Finding]:
    if len(run.flights) <= ENOUGH:
        return
    places = {rank: _place(data) for rank, data in run.flights.items()}
    common, many = Counter(places.values()).most_common(1)[0]
    odd = sorted(rank for rank, place in places.items() if place != common)
    if many < ENOUGH or not odd or len(odd) > len(places) // 3:
        return
    for rank in odd[:8]:
        yield Finding(
            id="collective-differs",
            verdict=WARN,
            where=Where(node=run.rank(rank).node, rank=rank),
            saw=f"rank {rank} is in {_named(places[rank])}, {many} others are in {_named(common)}.",
            expected="the same collective on every rank of a group",
            why="the others wait for it.",
            fix=f"read the stack of rank {rank}: stacks/rank-{rank}.txt.",
        )


def _place(data: Mapping[str, Any]) -> Tuple[str, str, str]:
    return str(data.get("sequence")), str(data.get("operation")), str(data.get("sizes"))


def _named(place: Tuple[str, str, str]) -> str:
    return f"{place[1]} number {place[0]} (sizes {place[2]})"


def _flight(rank: int, sequence: int, operation: str = "all_reduce") -> dict:
    data = {"sequence": sequence, "operation": operation, "sizes": [[4]]}
    return {"at": 5.0, "kind": "flight", "node": "a", "rank": rank, "data": data}


FIRES = [
    {"events": [_flight(0, 9), _flight(1, 9), _flight(2, 8), _flight(3, 9)], "now": 9.0},
    {"events": [_flight(0, 9), _flight(1, 9), _flight(2, 9, "broadcast")], "now": 9.0},
]
SILENT = [
    {"events": [_flight(0, 9), _flight(1, 9), _flight(2, 9)], "now": 9.0},
    {"events": [_flight(0, 9), _flight(1, 8)], "now": 9.0},
]
