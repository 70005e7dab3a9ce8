"""A rank or a supervisor reported an event with a wrong field.

## How it is found
A field has another type or an impossible number: text in place of a number, a time in the year 5138. allranks drops
the wrong field and keeps the event. It refuses the whole event if a required field is wrong, and so it does with an
answer that it compares with other ranks' (`flight`). It reports this once for each rank and node.

## Why it matters
The value of the field is not known. The rank still counts as alive. While its step or its phase cannot be read, it
also counts as moving, so that a stall of it is not seen.

## What to do
If your script writes into allranks' own files of the run, change that. Otherwise it is a bug in allranks: report it
with this line.

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
        fix="if the script writes into the run's own files, let it stop that; else report it as a bug in allranks.",
    )
