"""The ranks do not start from the same parameters.

## How it is found
Two ranks report different digests of their trainable parameters before the first step (in a loop of torch alone:
right after it; there it is a warning, since such a loop may mean it).

## Why it matters
Data parallelism adds gradients of one model: ranks that start from different values train different models, and
what is saved is rank 0's alone. No error ever says so.

## What to do
The same seed on every rank before the adapter is made (set_seed), or let rank 0 broadcast its parameters (DDP and
DeepSpeed do); the same checkpoint file on every node.

Topic: training
"""

from __future__ import annotations

from typing import Dict, Iterator, List

from allranks.core import BLOCK, WARN, Finding, Where
from allranks.monitor.run_state import RunState

PATIENCE_SECONDS = 10.0
"""Seconds to wait for the other ranks after the first two that differ, so that one finding names all differing
ranks."""

NAMED = 8


def detect(run: RunState, now: float) -> Iterator[Finding]:
    memory = run.memory_of("replicas-differ")
    if "judged" in memory or len(run.digests.get("trainable_digest", {})) < 2:
        return
    groups: Dict[str, List[int]] = {}
    for number, rank in sorted(run.ranks.items()):
        if rank.settings.trainable_digest is not None:
            groups.setdefault(rank.settings.trainable_digest, []).append(number)
    expected = run.known_world_size
    told = sum(len(ranks) for ranks in groups.values())
    if (told < expected or not expected) and now - memory.setdefault("since", now) < PATIENCE_SECONDS:
        return
    memory["judged"] = True
    if len(groups) > 1:
        yield _finding(run, groups, told)


def _finding(run: RunState, groups: Dict[str, List[int]], told: int) -> Finding:
    """The finding about the ranks that differ from the majority. If the ranks split in halves, it names the half
    without the lowest rank."""
    usual = max(groups, key=lambda digest: (len(groups[digest]), -groups[digest][0]))
    odd = sorted(rank for digest, ranks in groups.items() if digest != usual for rank in ranks)
    first = run.rank(odd[0])
    names = ", ".join(map(str, odd[:NAMED])) + (f" and {len(odd) - NAMED} more" if len(odd) > NAMED else "")
    # A loop without a framework may do so on purpose (stages of a pipeline, members of an ensemble).
    plain = first.settings.framework == "torch"
    return Finding(
        id="replicas-differ",
        verdict=WARN if plain else BLOCK,
        where=Where(node=first.node, rank=first.rank),
        saw=f"the trainable parameters of {told} ranks have {len(groups)} digests: {names} unlike rank "
        f"{groups[usual][0]} ({usual[:12]}).",
        expected="the same values on every rank before the first step",
        why="each rank would train another model, and only rank 0's is saved.",
        fix="one seed on every rank before the adapter is made, the same checkpoint on every node.",
    )
