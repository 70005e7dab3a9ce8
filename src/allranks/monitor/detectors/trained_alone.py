"""Each node trains alone.

## How it is found
A rank reports a world size that is not the one the plan expects. The first one that does is named.

## Why it matters
With a world size of 1 every process trains the whole run by itself: no error, no speed-up, and every
adapter but one is thrown away. With a wrong size the batch, the steps and the shards are wrong too.

## What to do
Start the script with torchrun on every node with the same --nnodes and the same rendezvous address; a leading
`python` or a missing `srun` starts it alone.

Topic: start
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import BLOCK, Event, Finding, Where
from allranks.monitor.run_state import RunState

AFTER = ("start", "settings")


def after(run: RunState, event: Event) -> Iterator[Finding]:
    expected, seen = run.world_size, event.payload.world_size
    if expected is None or seen is None or seen == expected:
        return
    rank = run.rank(event.rank) if event.rank is not None else None
    if rank is not None and rank.phase == "done":
        return  # what a rank still fits after its training, it may fit alone
    if run.memory_of("trained-alone").setdefault("rank", event.rank) != event.rank:
        return  # one rank is enough: thousands of ranks would report the same
    alone = (
        f"{expected} ranks would train {expected // max(seen, 1)} separate runs" if seen < expected else ""
    )
    yield Finding(
        id="trained-alone",
        verdict=BLOCK,
        where=Where(node=event.node or (rank.node if rank else None), rank=event.rank),
        saw=f"world size {seen} instead of {expected}.",
        expected=f"world size {expected}",
        why=(alone or "the batch size, the steps and every rank's shard are not those of the plan") + ".",
        fix="start the script with torchrun on every node, with the same --nnodes, --nproc_per_node and rendezvous.",
    )
