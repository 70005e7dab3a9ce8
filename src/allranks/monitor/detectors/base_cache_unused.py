"""A node's cache of the base model was not used, or not written.

## How it is found
Only with `prepare: {cache: …}`. A rank reports with its settings why it did not use the cache or did not write to it.
Its part was damaged, or is of an older state of the model's files. Or there was no room, or the folder is not safe to
use. A damaged part is a warning, the others are notes.

## Why it matters
The weights are right: the rank read the files instead. But this start, or the next one, takes as long as without a
cache. A damaged part may come from a failing disk.

## What to do
If a part is damaged, look at that disk (`smartctl -a`, `dmesg -T`); allranks removed the part and wrote it again. If
there is no room, raise `prepare.cache_limit`, free space, or remove old parts with `allranks clean RUN --cache`. If the
folder is not safe, the text names the fix. An older state needs nothing: the new one takes its place.

Topic: storage
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import NOTE, WARN, Event, Finding, Where
from allranks.core.rank_events import CACHE_NOTE
from allranks.core.text import printable
from allranks.monitor.run_state import RunState

AFTER = ("settings",)


def after(run: RunState, event: Event) -> Iterator[Finding]:
    rank = run.ranks.get(-1 if event.rank is None else event.rank)
    for note in rank.settings.notes if rank is not None else ():
        if rank is None or not note.startswith(CACHE_NOTE):
            continue
        said = printable(note[len(CACHE_NOTE) :], 300)
        damaged = "damaged" in said
        yield Finding(
            id="base-cache-unused",
            verdict=WARN if damaged else NOTE,
            where=Where(node=rank.node),
            saw=f"the cache of the base model on {rank.node}, rank {rank.rank}: {said}.",
            expected="a part that is read from the cache, or written to it",
            why="the rank read the model's files instead, so the start took as long as without a cache.",
            fix="look at the cache's disk: smartctl -a, dmesg -T."
            if damaged
            else "allranks explain base-cache-unused",
        )
