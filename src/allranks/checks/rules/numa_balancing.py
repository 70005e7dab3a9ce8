"""The kernel moves memory between NUMA nodes while the ranks run.

## How it is found
Automatic NUMA balancing on machines with several NUMA nodes that train on GPUs.

## Why it matters
It unmaps pages to see who uses them: host buffers of GPUs and InfiniBand are touched from both sides, and
steps become uneven by some percent.

## What to do
`sysctl -w kernel.numa_balancing=0`, and in /etc/sysctl.d.

## Source
Linux `Documentation/admin-guide/sysctl/kernel.rst`, numa_balancing; NVIDIA and AMD tuning guides for GPU
servers.

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View, on_gpus
from allranks.checks.phrases import listed

NEEDS = ("system.numa_balancing",)
UNKNOWN_BLOCKS = False
applies = on_gpus


def check(context: Context) -> Findings:
    on: list[View] = [
        view
        for view in context.machines
        if view.number("system.numa_balancing") and (view.number("system.cpus.numa") or 1) > 1
    ]
    if on:
        yield context.note(
            on[0],
            saw=f"automatic NUMA balancing is on: {listed(view.name for view in on)}",
            expected="off on GPU servers",
            why="it unmaps pages while ranks use them, which makes steps uneven by some percent.",
            fix="as root there: sysctl -w kernel.numa_balancing=0",
        )
