"""One GPU shows up on two nodes.

## How it is found
The UUIDs of all GPUs of the run.

## Why it matters
A UUID belongs to one board. If two nodes show the same one, they are two containers or names of one machine,
although their boot ids differ or could not be read. Two ranks would share the GPU.

## What to do
Remove one of the nodes, or give each its own GPUs with CUDA_VISIBLE_DEVICES and write `same_host: true`.

## Source
NVML: a GPU's UUID is globally unique.

Topic: gpus
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks import gpus
from allranks.checks.context import Context, View
from allranks.core import Finding

NEEDS = ("gpus.list",)
applies = gpus.applies


def check(context: Context) -> Iterator[Finding]:
    seen: dict[str, tuple[View, int]] = {}
    told: set[tuple[str, str]] = set()
    for view, index, gpu in gpus.used(context):
        uuid = gpu.get("uuid")
        if not isinstance(uuid, str):
            continue
        other, other_index = seen.setdefault(uuid, (view, index))
        if other is not view and (other.name, view.name) not in told:
            told.add((other.name, view.name))
            yield context.block(
                view,
                gpu=index,
                key="nodes",
                saw=f"GPU {index} of {view.name} is GPU {other_index} of {other.name}: {uuid}",
                expected="each GPU once",
                why="two ranks would share it: NCCL stops with 'Duplicate GPU detected'.",
                fix=f"remove {view.name} or {other.name} from nodes",
            )
