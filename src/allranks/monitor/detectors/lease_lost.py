"""A node stopped its ranks because it heard nothing from the keeper.

## How it is found
A supervisor reports that its lease ended: it heard nothing from the keeper for the lease's length.

## Why it matters
A node that cannot hear the keeper must not train on alone: it stopped its own ranks. The others end too.

## What to do
Look at the network between that node and the head, and at the head itself (load, memory, a dead keeper).

Topic: ends
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import BLOCK, Event, Finding, Where
from allranks.core.causes import PASSES, Cause
from allranks.monitor.head_isolation import cut_off
from allranks.monitor.run_state import RunState

CAUSE = Cause(__name__, restart=PASSES)
AFTER = ("lease-lost",)


def after(run: RunState, event: Event) -> Iterator[Finding]:
    if cut_off(run, run.arrived) is not None:
        return  # head-cut-off reports it: the lease ended because the head was cut off
    yield Finding(
        id="lease-lost",
        verdict=BLOCK,
        where=Where(node=event.node),
        saw=f"its supervisor's lease ended: {event.payload.why or 'nothing was heard from the keeper'}.",
        expected="a new lease from the keeper long before the last one ends",
        why="the node stopped its own ranks rather than train on unwatched.",
        fix="look at the network between this node and the head, and at the head's load and memory.",
    )
