"""Two nodes of the run are one machine.

## How it is found
The kernel's boot id of every node: two nodes with the same one share a kernel, so they are one machine
under two names, or two containers of one machine.

## Why it matters
Two torchruns would take the same GPUs: NCCL stops with "Duplicate GPU detected", or two ranks share a GPU
and its memory. Equal PCI bus ids on different machines are normal and no sign of it.

## What to do
Remove one of the names from `nodes`. If you want several nodes on one machine (as in the demo), write
`same_host: true`.

## Source
`/proc/sys/kernel/random/boot_id` (random(4)); NCCL 2.30 `init.cc` compares host hash and bus id.

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.phrases import listed

NEEDS = ("system.boot_id",)


def check(context: Context) -> Findings:
    if context.run.same_host:
        return
    for group in context.hosts:
        if len(group) > 1:
            names = [f"{view.name} ({view.node.address})" for view in group]
            yield context.block(
                group[1],
                key="nodes",
                saw=f"{listed(names)} are one machine: boot id {group[0].text('system.boot_id')}",
                expected="each machine once",
                why="their ranks would take the same GPUs: NCCL stops with 'Duplicate GPU detected'.",
                fix=f"remove {group[1].name} from nodes, or write same_host: true if that is meant",
            )
