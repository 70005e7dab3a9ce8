"""An event with a wrong field

## What is seen
A rank or a supervisor told an event with a field of another type or with an impossible number: a text where a number
belongs, a time in the year 5138. Such an event is left out as a whole. It is said once of each rank and node.

## Why it matters
What it told is not known: a rank whose beats are refused seems silent.

## What to do
If the script writes into allranks' own files of the run, let it stop that. Otherwise it is a fault of allranks: report
it with this line.
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
        saw=f"an event with a wrong field was left out: {event.payload.why}.",
        expected="events as this version writes them",
        why="what it told is not known: a rank whose beats are refused seems silent.",
        fix="if the script writes into the run's own files, let it stop that; else report it as a fault of allranks.",
    )
