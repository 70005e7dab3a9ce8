"""A machine has fewer processors than its ranks keep busy.

## How it is found
The processors that the run may use on each machine (its affinity mask) against its ranks, their data loader
workers and tokenizing processes.

## Why it matters
Each rank has a main thread that feeds its GPU, one for NCCL's proxy, and its data loader's workers. Ranks
that wait for a processor slow every collective; a mask of one processor comes from a scheduler that was
asked for one.

## What to do
Ask the scheduler for more (`--cpus-per-task`), lower `dataloader_num_workers`, or unset the affinity.

## Source
sched_getaffinity(2); NCCL user guide (proxy threads).

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.core.untrusted import number

NEEDS = ("system.cpus",)
UNKNOWN_BLOCKS = False


def check(context: Context) -> Findings:
    workers = number(context.arguments.get("dataloader_num_workers")) or 0
    for view, ranks in context.ranks_by_machine:
        usable, online = view.number("system.cpus.usable"), view.number("system.cpus.online")
        wanted = ranks * (1 + min(workers, 1)) if context.uses_gpu else min(ranks, 2)
        if usable is not None and usable < wanted:
            masked = f" of {online:.0f} (by its affinity)" if online and online > usable else ""
            yield context.warn(
                view,
                saw=f"the run may use {usable:.0f} processors{masked} on {view.name}",
                expected=f"{wanted:.0f} for {ranks} ranks with {workers:.0f} workers each",
                why="ranks that wait for a processor slow every collective of all ranks.",
                fix="ask the scheduler for more (--cpus-per-task), or dataloader_num_workers: 0",
            )
