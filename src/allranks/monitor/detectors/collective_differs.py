"""The ranks are in different collectives, and no majority says which is right.

## How it is found
At a stall allranks reads the flight recorders. They show two ranks, or two sides of a process group, in different
operations at the same number, and neither side is larger. If one rank, or all ranks of one node, differ from all
others, the finding is rank-holds-up instead.

## Why it matters
Both sides wait for each other forever, and torch's time-out blames ranks of both sides.

## What to do
The code takes different paths: a collective under `if rank == 0`, an uneven number of batches, a branch that depends
on a rank's own data. Compare the stacks of both sides in stacks/.

Topic: training
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import BLOCK, Finding, Where
from allranks.monitor import start_patience
from allranks.monitor.rank_comparison import answered, odd_or_sides
from allranks.monitor.run_state import RunState

EACH_TIME = True


def detect(run: RunState, now: float) -> Iterator[Finding]:
    asked, _ = start_patience.question(run)
    if run.quiet or now < run.paused_until or not answered(run, asked, now):
        return
    odd = odd_or_sides(run)
    if odd is None or not odd.rivals or odd.rank not in run.ranks:
        return
    nodes = {run.ranks[n].node for n in (odd.rank, *odd.rivals) if n in run.ranks}
    finding = Finding(
        id="collective-differs",
        verdict=BLOCK,
        where=Where(node=next(iter(nodes)) if len(nodes) == 1 else None),
        saw=f"ranks of one process group are in different collectives: {odd.reason}.",
        expected="the same collective on every rank of a group",
        why="they wait for each other forever.",
        fix="make every rank take the same path there; the stacks of both sides are in stacks/.",
        evidence=odd.evidence,
    )
    run.held_up = (now, odd, finding)
    yield finding
