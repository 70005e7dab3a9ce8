"""The host has less memory left than the ranks take while they train.

## How it is found
allranks compares the available memory of every machine (not its total memory) and the limit of its control group
with the host memory that its ranks need while they train, according to the plan. What loading takes for a moment
is the planner's finding.

## Why it matters
The kernel ends the rank that asks for the last page (exit code -9), with offload at the first optimizer
step; its node then shows no error of its own. Other people's processes take what is missing.

## What to do
Free memory, raise the control group's limit, use fewer ranks on that machine, or leave offload out
(`deepspeed: zero3`).

## Source
`/proc/meminfo` MemAvailable; `memory.max`; the plan's `memory.host_parts.train`.

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View
from allranks.core.quantities import in_bytes
from allranks.core.untrusted import mapping, number

NEEDS = ("system.memory",)

BASE_BYTES = 700 << 20
"""Memory of a rank that has imported the training stack and not loaded a model: 760 MiB were measured for the tiny
model on CPU."""


def check(context: Context) -> Findings:
    for view, ranks in context.ranks_by_machine:
        available, source = room(view)
        wanted = needed(context, ranks)
        if available is not None and available < wanted:
            yield context.block(
                view,
                saw=f"{view.name} has {in_bytes(available)} of memory for the run ({source})",
                expected=f"{in_bytes(wanted)} for {ranks} ranks",
                why="the kernel would end a rank (exit code -9), hours into the run.",
                fix=f"free memory on {view.name}, fewer ranks there, or deepspeed: zero3 where offload takes it",
            )


def room(view: View) -> tuple[float | None, str]:
    available = view.number("system.memory.available_bytes")
    limit = view.number("system.cgroup_memory_bytes")
    if limit is not None and (available is None or limit < available):
        return limit, "its control group's limit"
    return available, "MemAvailable"


def needed(context: Context, ranks: int) -> float:
    """Bytes of host memory that the ranks of one machine need: the plan's figure for a node, scaled to this number of
    ranks, and at least BASE_BYTES per rank."""
    parts = mapping(mapping(getattr(context.plan, "memory", None)).get("host_parts"))
    planned = number(parts.get("train")) or 0
    usual = max((node.gpus for node in context.run.cluster.nodes), default=1)
    return max(planned * ranks / usual, BASE_BYTES * ranks)
