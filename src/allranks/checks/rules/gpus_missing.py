"""A node has fewer GPUs than its ranks need, or none.

## What it looks at
How many GPUs `nvidia-smi` lists on each node, against the number of ranks that the run starts there (all
nodes of one machine together).

## Why it matters
Each local rank takes the GPU of its number: without it the rank ends with "invalid device ordinal" and the
whole run with it.

## What to do
Ask for what is there (`gpus`), or find out why a GPU is gone: `nvidia-smi -L`, `dmesg` for "fallen off the
bus" (Xid 79), and in a container whether all GPUs were given to it.

## Source
torch 2.13 `torch.cuda.set_device`; NVIDIA "Xid errors", Xid 79.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks.case import Remove, fires, silent
from allranks.checks.context import Context
from allranks.checks.words import counted
from allranks.words import Finding

NEEDS = ("gpus.list",)


def applies(context: Context) -> bool:
    return context.uses_gpu


def check(context: Context) -> Iterator[Finding]:
    for group in context.hosts:
        view = group[0]
        if not view.has("gpus.list"):
            continue
        wanted = (
            max(one.node.gpus for one in group)
            if not context.run.same_host
            else sum(o.node.gpus for o in group)
        )
        there = len(view.list("gpus.list"))
        if there < wanted:
            reason = view.text("gpus.reason") or ""
            yield context.block(
                view,
                key="gpus",
                saw=f"{view.name} shows {counted(there, 'GPU') if there else 'no GPU'}"
                + (f" ({reason})" if reason else ""),
                expected=f"{counted(wanted, 'GPU')}, one a rank",
                why=f"local ranks {there} to {wanted - 1} would end with 'invalid device ordinal'."
                if there
                else "no rank could start; training on CPU is asked for with use_cpu: true.",
                fix=f"gpus: {there}, or find the missing ones: nvidia-smi -L and dmesg on {view.name}"
                if there
                else f"nvidia-smi -L on {view.name}, or use_cpu: true",
            )


CASES = (
    fires(
        "a100",
        {"node-2/gpus/list/7": Remove, "node-2/driver/gpus_on_bus": 7},
        node="node-2",
        verdict="block",
        saw="shows 7 GPUs",
    ),
    fires("cpu", {"run/train/arguments/use_cpu": False}, node="node-0", verdict="block", saw="no GPU"),
    silent("a100"),
    silent("cpu"),
)
