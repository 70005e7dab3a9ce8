"""A GPU is another model than the rest, or than was asked for.

## How it is found
The name and memory of every GPU that the run uses, between nodes and against `gpus.model`.

## Why it matters
All ranks work in step: a slower model sets the pace of all, and one with less memory decides what fits.
ZeRO splits evenly, whatever a GPU can hold.

## What to do
Take the node out, put the same models together, or leave `gpus.model` out if the mixture is meant.

## Source
nvidia-smi `product_name` and `fb_memory_usage`; DeepSpeed ZeRO-3 partitions each tensor evenly.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks import gpus
from allranks.checks.context import Context, Findings, minority, on_gpus
from allranks.checks.phrases import listed
from allranks.core.quantities import in_bytes

NEEDS = ("gpus.list",)
applies = on_gpus

SAME_MEMORY = 0.02
"""Boards of one model differ by reserved pages (well below 2 %); the next smaller model is a quarter less."""


def check(context: Context) -> Findings:
    asked = context.run.gpus.model
    for view, found in gpus.by_node(context.used_gpus).items():
        wrong = [gpu for gpu in found if asked and not gpus.same_model(asked, gpu.model)]
        if wrong:
            yield context.block(
                view,
                key="gpus.model",
                saw=f"{view.name}: {listed(f'GPU {gpu.index} is {gpu.model}' for gpu in wrong)}",
                expected=f"{asked}, as gpus.model asks",
                why="the plan's memory and times are those of the model that was asked for.",
                fix=f"take {view.name} out of nodes, or gpus: {{model: {wrong[0].model}}}",
            )
    if not asked:
        yield from mixed(context)
    yield from less_memory(context)


def mixed(context: Context) -> Findings:
    models = {gpu: str(gpu.model) for gpu in context.used_gpus}
    odd = minority(models)
    if odd:
        each = listed((f"{gpu.node} GPU {gpu.index}: {model}" for gpu, model, _ in odd), 4)
        yield context.warn(
            key="gpus",
            saw=f"{len(set(models.values()))} GPU models: {each}; the rest {odd[0][2]}",
            expected="one model",
            why="every step waits for the slowest, and the smallest memory decides what fits.",
            fix="take the odd ones out, or name the model that is meant in gpus.model",
        )


def less_memory(context: Context) -> Findings:
    known = [(gpu, total) for gpu in context.used_gpus if (total := gpu.number("memory.total_bytes"))]
    most = max((total for _, total in known), default=0)
    for gpu, total in known:
        if total < most * (1 - SAME_MEMORY) and gpu.model == context.used_gpus[0].model:
            yield context.warn(
                gpu,
                saw=f"{gpu} has {in_bytes(total)} of memory",
                expected=f"{in_bytes(most)}, as the others of this model",
                why="ZeRO splits evenly: this rank would be the first out of memory.",
                fix="nvidia-smi -q -d MEMORY on it: pages may have been retired, or MIG may hold a part",
            )
