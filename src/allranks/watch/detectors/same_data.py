"""Ranks read the same data

## What is seen
Two ranks report the same digest of their first batch, though the data set is larger than one batch of all ranks.

## Why it matters
The run sees that part of the data several times and another part never; the effective batch is smaller than the one
that was asked for.

## What to do
A DistributedSampler (or split_dataset_by_node) with the right rank and world size; for streamed data a shard a rank.
"""

from __future__ import annotations

from typing import Iterator

from allranks.watch.state import RunState
from allranks.words import WARN, Event, Finding, Where

AFTER = ("settings",)


def after(run: RunState, event: Event) -> Iterator[Finding]:
    digest, rank = event.data.get("data_digest"), event.rank
    if digest is None or rank is None:
        return
    first = run.digests.get("data_digest", {}).get(str(digest), rank)
    settings = run.rank(rank).settings
    samples, batch = settings.get("samples"), settings.get("micro_batch") or 1
    if first == rank or (isinstance(samples, int) and samples < batch * (run.world_size or 2)):
        return
    yield Finding(
        id="same-data",
        verdict=WARN,
        where=Where(node=event.node, rank=rank),
        saw=f"the first batches of rank {rank} and rank {first} are the same.",
        expected="other samples on every data-parallel rank",
        why="part of the data is read several times and another part never.",
        fix="a sampler that knows the rank and the world size; for streams a shard a rank.",
    )


def _settings(rank: int, digest: str, samples: int = 1000) -> dict:
    data = {"data_digest": digest, "samples": samples, "micro_batch": 1}
    return {"at": 1.0 + rank, "kind": "settings", "node": "a", "rank": rank, "data": data}


FIRES = [{"events": [_settings(0, "aa"), _settings(1, "aa")]}]
SILENT = [
    {"events": [_settings(0, "aa"), _settings(1, "bb")]},
    {"events": [_settings(0, "aa", 1), _settings(1, "aa", 1)]},
    {"events": [_settings(0, "aa"), _settings(0, "aa")]},
]
