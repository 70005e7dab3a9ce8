"""An event with a wrong field.

## How it is found
A rank or a supervisor told an event with a field of another type or with an impossible number: a text where a number
belongs, a time in the year 5138. The wrong field is left out and the event is kept. An event is refused as a whole if a
field that must be there is wrong, and so is an answer that is compared with other ranks' (`flight`). It is said once of
each rank and node.

## Why it matters
What the field told is not known. The rank counts as alive all the same; while its step or its phase cannot be read it
also counts as moving, so a stall of it is not seen.

## What to do
If the script writes into allranks' own files of the run, let it stop that. Otherwise it is a fault of allranks: report
it with this line.

Topic: training
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import WARN, Event, Finding, Where
from allranks.monitor.run_state import RunState

AFTER = ("refused",)


def after(run: RunState, event: Event) -> Iterator[Finding]:
    yield Finding(
        id="event-refused",
        verdict=WARN,
        where=Where(node=event.node, rank=event.rank),
        saw=f"an event has a wrong field, which is left out: {event.payload.why}.",
        expected="events as this version writes them",
        why="what it told is not known; the rank counts as alive, and a stall of it may not be seen.",
        fix="if the script writes into the run's own files, let it stop that; else report it as a fault of allranks.",
    )
