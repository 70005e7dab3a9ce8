"""Ranks read the same data.

## How it is found
Ranks report the same digest of the batch of their first step, although the data set is larger than one batch of
all ranks. Ranks that are known to share a batch do not count (parts of a tensor, a sequence or a pipeline). Nor
does a batch that is made on a GPU, or one whose tensors hold only one value.

## Why it matters
The run sees that part of the data several times and another part never; the effective batch is smaller than the one
that you asked for.

## What to do
Use a DistributedSampler (or split_dataset_by_node) with the right rank and world size; for streamed data, one shard
per rank. If ranks share a batch on purpose (your own parallelism), ignore this warning.

Topic: training
"""

from __future__ import annotations

from typing import Dict, Iterator, List

from allranks.core import WARN, Finding, Where
from allranks.monitor.run_state import RunState

PATIENCE_SECONDS = 60.0
"""Ranks that have not reported their first batch a minute after the first report are left out of the comparison."""

NAMED = 8


def detect(run: RunState, now: float) -> Iterator[Finding]:
    memory = run.memory_of("same-data")
    if "judged" in memory or not run.digests.get("data_digest"):
        return
    told = {r.rank: r.settings.data_digest for r in run.ranks.values() if r.settings.data_digest}
    since, expected = memory.setdefault("since", now), run.known_world_size
    if (len(told) < expected or not expected) and now - since < PATIENCE_SECONDS:
        return
    memory["judged"] = True  # the first batches do not change
    groups: Dict[str, List[int]] = {}
    for rank, digest in sorted(told.items()):
        groups.setdefault(digest, []).append(rank)
    same = [ranks for ranks in groups.values() if len(ranks) > 1 and not _is_small(run, ranks[0])]
    if same:
        yield _finding(run, same, len(told))


def _is_small(run: RunState, rank: int) -> bool:
    """Whether the data set is no larger than one batch of all ranks."""
    settings = run.rank(rank).settings
    batches = (settings.micro_batch or 1) * (run.world_size or 2)
    return settings.samples is not None and settings.samples < batches


def _finding(run: RunState, same: List[List[int]], told: int) -> Finding:
    ranks = same[0]
    names = ", ".join(map(str, ranks[:NAMED])) + (", …" if len(ranks) > NAMED else "")
    if len(ranks) == told:
        saw = f"the first batches of all {told} ranks are the same."
    else:
        saw = f"the first batches of rank {names} are the same."
        saw += f" So are those of {len(same) - 1} other groups of ranks." if len(same) > 1 else ""
    other = run.rank(ranks[1])
    return Finding(
        id="same-data",
        verdict=WARN,
        where=Where(node=other.node, rank=other.rank),
        saw=saw,
        expected="other samples on every data-parallel rank",
        why="part of the data is read several times and another part never.",
        fix="a sampler that knows the rank and the world size; for streams a shard per rank.",
    )
