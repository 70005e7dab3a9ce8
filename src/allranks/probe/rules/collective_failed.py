"""A collective over the nodes failed, or took too long.

## How it is found
allranks makes a process group of one rank per node, then of all ranks, with the training environment's own torch. It
follows how far each rank comes and what it prints, and ends the ranks at the time limit.

## Why it matters
The run does the same after it has loaded the model, and would fail there.

## What to do
The evidence holds the rank's last lines. A rank that stops at `imported` or `computed` waits for the others at the
rendezvous; at `joined` it waits for their data. If a signal killed a rank (SIGKILL: usually the OOM killer), the
ranks that lost it are left out.

## Source
torch.distributed: init_process_group, all_reduce, barrier.

Topic: network
"""

from __future__ import annotations

import signal
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
    "done": "its process did not end in time",
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
    broken = [rank for rank in one.ranks if has_failed(rank) and not collateral(rank, one)]
    for rank in broken:
        yield context.block(
            rank.node,
            saw=f"{one.name} ({one.backend}): rank {rank.rank} {ended(rank)} after `{rank.reached}`: "
            f"{last_line(rank.tail, 'it printed nothing')}",
            expected="every rank joins and sums",
            why="the run's own ranks do the same first.",
            fix=f"on {rank.node}: dmesg -T | grep -i -e oom -e killed. The OOM killer probably ended it: free host "
            "memory"
            if rank.code == -signal.SIGKILL
            else "look at the evidence; allranks check FILE judges the nodes",
            evidence=tuple(rank.tail.splitlines()[-12:]),
        )
    if not broken:
        yield from unfinished(context, one)


def unfinished(context: Context, one: Collective) -> Iterator[Finding]:
    """The ranks that are furthest behind, if none of them failed. Ranks with wrong sums are `collective-wrong`'s."""
    left = [rank for rank in one.ranks if rank.reached != "done" or not (rank.passed or rank.wrong)]
    behind = min(left, key=stage, default=None)
    if behind is None:
        return
    same = [rank for rank in left if rank.reached == behind.reached]
    stays = "it ended with code 0 before it was done" if behind.code == 0 else WAITS.get(behind.reached, "")
    yield context.block(
        behind.node if len(same) == 1 else None,
        saw=f"{one.name} ({one.backend}) {f'was ended: {one.stopped}' if one.stopped else 'did not pass'}. "
        f"{plural(len(same), 'rank')} reached only `{behind.reached}`: {stays}",
        expected="every rank joins and sums",
        why="the run would wait in the same place until its own timeout (10 to 30 minutes).",
        fix="allranks explain data-ports-closed interface-wrong; env: {NCCL_DEBUG: INFO} and probe again",
        evidence=tuple(line for rank in same[:4] for line in rank.tail.splitlines()[-4:]),
    )


def has_failed(rank: RankSaid) -> bool:
    return rank.code not in (None, 0)


def collateral(rank: RankSaid, one: Collective) -> bool:
    """Whether another rank is to blame: it failed at an earlier stage, or a signal killed it at the same one. The ranks
    that lose it report a closed connection."""
    failed = [other for other in one.ranks if has_failed(other)]
    if stage(rank) > min(map(stage, failed)):
        return True
    return not was_killed(rank) and any(was_killed(other) and stage(other) <= stage(rank) for other in failed)


def was_killed(rank: RankSaid) -> bool:
    """Whether a signal ended it. SIGABRT does not count: with it NCCL's watchdog ends ranks that only waited."""
    return (rank.code or 0) < 0 and rank.code != -signal.SIGABRT


def ended(rank: RankSaid) -> str:
    try:
        return f"was ended by {signal.Signals(-(rank.code or 0)).name}"
    except ValueError:
        return f"ended with code {rank.code}"


def stage(rank: RankSaid) -> int:
    """How far it came. A rank may report any text."""
    return STAGES.index(rank.reached) if rank.reached in STAGES else 0
