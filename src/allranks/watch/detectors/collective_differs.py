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

from typing import Iterator

from allranks.watch import looking
from allranks.watch.compare import by_flight
from allranks.watch.state import RunState
from allranks.words import WARN, Finding, Where

ENOUGH = 2
"""Ranks that must agree before another one is called different."""


def look(run: RunState, now: float) -> Iterator[Finding]:
    if len(run.flights) <= ENOUGH or looking.question(run)[1]:
        return  # what a start's silent look proves, rank-holds-up says
    odd = by_flight(run, {rank: run.rank(rank) for rank in run.flights})
    if odd is not None:
        yield Finding(
            id="collective-differs",
            verdict=WARN,
            where=Where(node=run.rank(odd.rank).node, rank=odd.rank),
            saw=f"rank {odd.rank}: {odd.reason}.",
            expected="the same collective on every rank of a group",
            why="the others wait for it.",
            fix=f"read the stack of rank {odd.rank}: stacks/rank-{odd.rank}.txt.",
        )


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
