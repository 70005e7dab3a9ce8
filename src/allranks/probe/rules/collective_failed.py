"""A collective over the nodes failed, or was not over in time.

## How it is found
A process group of one rank per node, then of all ranks, with the training environment's own torch: how far each
rank came, what it printed, and what was ended at the limit.

## Why it matters
It is what the run's first seconds do. A failure here would also end the run, after the model was loaded.

## What to do
The evidence holds the rank's last lines. A rank that stops at `imported` or `computed` waits for the others at the
rendezvous; at `joined` it waits for their data.

## Source
torch.distributed: init_process_group, all_reduce, barrier.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.core.text import last_line, plural
from allranks.probe.judge import Context
from allranks.probe.results import Collective, RankSaid

STAGES = ("started", "begun", "imported", "device", "computed", "joined", "summed", "measured", "done")
WAITS = {
    "started": "its Python did not begin",
    "begun": "it imports torch",
    "imported": "it waits for the others at the rendezvous",
    "device": "it waits for the others at the rendezvous",
    "computed": "it waits for the others at the rendezvous",
    "joined": "it waits for the others' data",
    "summed": "it waits for the others' data",
    "measured": "it waits for the others' end",
}


def check(context: Context) -> Iterator[Finding]:
    for one in context.results.collectives:
        for node, reason in one.unreached.items():
            yield context.block(
                node,
                saw=f"{one.name}: its ranks could not be watched: {reason}",
                why="the collective needs every rank.",
                fix="allranks check FILE, then allranks probe FILE",
            )
        if not one.passed and not one.unreached:
            yield from of_ranks(context, one)


def of_ranks(context: Context, one: Collective) -> Iterator[Finding]:
    broken = [rank for rank in one.ranks if rank.code not in (None, 0) and not collateral(rank, one)]
    for rank in broken:
        yield context.block(
            rank.node,
            saw=f"{one.name} ({one.backend}): rank {rank.rank} ended with code {rank.code} after `{rank.reached}`: "
            f"{last_line(rank.tail, 'it printed nothing')}",
            expected="every rank joins and sums",
            why="the run's own ranks do the same first.",
            fix="look at the evidence; allranks check FILE judges the nodes",
            evidence=tuple(rank.tail.splitlines()[-12:]),
        )
    if broken or not one.stopped:
        return
    behind = min((r for r in one.ranks if r.reached != "done"), key=lambda r: stage(r), default=None)
    if behind is None:
        return
    same = [rank for rank in one.ranks if rank.reached == behind.reached]
    node = behind.node if len(same) == 1 else None
    yield context.block(
        node,
        saw=f"{one.name} ({one.backend}) was ended: {one.stopped}. {plural(len(same), 'rank')} came only to "
        f"`{behind.reached}`: {WAITS.get(behind.reached, '')}",
        expected="every rank joins and sums",
        why="the run would wait in the same place until its own timeout (10 to 30 minutes).",
        fix="allranks explain data-ports-closed interface-wrong; env: {NCCL_DEBUG: INFO} and probe again",
        evidence=tuple(line for rank in same[:4] for line in rank.tail.splitlines()[-4:]),
    )


def collateral(rank: RankSaid, one: Collective) -> bool:
    """It came as far as those who did not fail: another one is to blame, that failed earlier."""
    first = min(stage(r) for r in one.ranks if r.code not in (None, 0))
    return stage(rank) > first


def stage(rank: RankSaid) -> int:
    """How far it came; what a rank says is a text that may be anything."""
    return STAGES.index(rank.reached) if rank.reached in STAGES else 0
