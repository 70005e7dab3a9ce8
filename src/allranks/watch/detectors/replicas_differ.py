"""The ranks do not start from the same parameters

## What is seen
Two ranks report different digests of their trainable parameters before the first step (in a loop of torch alone:
right after it; there it is a warning, since such a loop may mean it).

## Why it matters
Data parallelism adds gradients of one model: ranks that start from different values train different models, and
what is saved is rank 0's alone. No error ever says so.

## What to do
The same seed on every rank before the adapter is made (set_seed), or let rank 0 broadcast its parameters (DDP and
DeepSpeed do); the same checkpoint file on every node.
"""

from __future__ import annotations

from typing import Iterator

from allranks.watch.state import RunState
from allranks.words import BLOCK, WARN, Event, Finding, Where

AFTER = ("settings",)


def after(run: RunState, event: Event) -> Iterator[Finding]:
    digest = event.data.get("trainable_digest")
    held = run.digests.get("trainable_digest", {})
    others = sorted(rank for value, rank in held.items() if value != str(digest))
    if digest is None or not others or event.rank is None:
        return
    # A loop without a framework may mean it (stages of a pipeline, members of an ensemble).
    plain = event.data.get("framework") == "torch"
    yield Finding(
        id="replicas-differ",
        verdict=WARN if plain else BLOCK,
        where=Where(node=event.node, rank=event.rank),
        saw=f"rank {event.rank}'s trainable parameters have digest {str(digest)[:12]}, rank {others[0]}'s another.",
        expected="the same values on every rank before the first step",
        why="each rank would train another model, and only rank 0's is saved.",
        fix="one seed on every rank before the adapter is made, the same checkpoint on every node.",
    )


def _settings(rank: int, digest: "str | None") -> dict:
    data = {"trainable_parameters": 5, **({"trainable_digest": digest} if digest else {})}
    return {"at": 1.0 + rank, "kind": "settings", "node": "a", "rank": rank, "data": data}


FIRES = [{"events": [_settings(0, "aa"), _settings(1, "aa"), _settings(2, "bb")]}]
SILENT = [
    {"events": [_settings(0, "aa"), _settings(1, "aa")]},
    {"events": [_settings(0, "aa"), _settings(1, None)]},
]
