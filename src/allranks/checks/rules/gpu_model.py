"""A GPU is another model than the rest, or than was asked for.

## How it is found
The name and memory of every GPU that the run uses, between nodes and against `gpus.model`.

## Why it matters
All ranks work in step: a slower model sets the pace of all, and one with less memory decides what fits.
ZeRO splits evenly, whatever a GPU can hold.

## What to do
Take the node out, put the same models together, or leave `gpus.model` out where the mixture is meant.

## Source
nvidia-smi `product_name` and `fb_memory_usage`; DeepSpeed ZeRO-3 partitions each tensor evenly.

Topic: gpus
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks import gpus
from allranks.checks.context import Context, View, minority
from allranks.checks.phrases import gib, listed
from allranks.core import Finding

NEEDS = ("gpus.list",)
applies = gpus.applies

SAME_MEMORY = 0.02
"""Boards of one model differ by reserved pages (well below 2 %); the next smaller model is a quarter less."""


def check(context: Context) -> Iterator[Finding]:
    found = [(view, index, gpu) for view, index, gpu in gpus.used(context)]
    asked = context.run.gpus.model
    for view, mine in by_view(found).items():
        wrong = [(i, g) for i, g in mine if asked and not gpus.same_model(asked, g.get("name"))]
        if wrong:
            seen = [f"GPU {i} is {g.get('name')}" for i, g in wrong]
            yield context.block(
                view,
                key="gpus.model",
                saw=f"{view.name}: {listed(seen)}",
                expected=f"{asked}, as gpus.model asks",
                why="the plan's memory and times are those of the model that was asked for.",
                fix=f"take {view.name} out of nodes, or gpus: {{model: {wrong[0][1].get('name')}}}",
            )
    if not asked:
        yield from mixed(context, found)
    yield from less_memory(context, found)


def by_view(found: list) -> dict[View, list]:
    grouped: dict[View, list] = {}
    for view, index, gpu in found:
        grouped.setdefault(view, []).append((index, gpu))
    return grouped


def mixed(context: Context, found: list) -> Iterator[Finding]:
    names = {(view, index): str(gpu.get("name")) for view, index, gpu in found}
    odd = minority(names)
    if odd:
        each = listed((f"{view.name} GPU {index}: {name}" for (view, index), name, _ in odd), 4)
        yield context.warn(
            key="gpus",
            saw=f"{len(set(names.values()))} GPU models: {each}; the rest {odd[0][2]}",
            expected="one model",
            why="every step waits for the slowest, and the smallest memory decides what fits.",
            fix="take the odd ones out, or name the model that is meant in gpus.model",
        )


def less_memory(context: Context, found: list) -> Iterator[Finding]:
    known = [(v, i, g, gpus.amount(g, "memory.total_bytes")) for v, i, g in found]
    most = max((total for *_, total in known if total), default=0)
    for view, index, gpu, total in known:
        if total and total < most * (1 - SAME_MEMORY) and gpu.get("name") == found[0][2].get("name"):
            yield context.warn(
                view,
                gpu=index,
                saw=f"{gpus.label(index, gpu)} of {view.name} has {gib(total)} of memory",
                expected=f"{gib(most)}, as the others of this model",
                why="ZeRO splits evenly: this rank would be the first out of memory.",
                fix="nvidia-smi -q -d MEMORY on it: pages may have been retired, or MIG may hold a part",
            )
