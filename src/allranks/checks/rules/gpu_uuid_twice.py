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

import re

from allranks.checks.context import Context, Findings, UsedGpu, on_gpus
from allranks.core.untrusted import text

NEEDS = ("gpus.list",)
applies = on_gpus


def check(context: Context) -> Findings:
    seen: dict[str, UsedGpu] = {}
    told: set[tuple[str, str]] = set()
    for gpu in context.used_gpus:
        uuid = text(gpu.get("uuid")) or ""
        # An all-zero UUID is one that was masked or is not set: it says nothing.
        other = seen.setdefault(uuid, gpu) if re.search("[1-9a-f]", uuid.removeprefix("GPU-")) else gpu
        if other.view is not gpu.view and (other.node, gpu.node) not in told:
            told.add((other.node, gpu.node))
            yield context.block(
                gpu,
                key="nodes",
                saw=f"GPU {gpu.index} of {gpu.node} is GPU {other.index} of {other.node}: {uuid}",
                expected="each GPU once",
                why="two ranks would share it: NCCL stops with 'Duplicate GPU detected'.",
                fix=f"remove {gpu.node} or {other.node} from nodes",
            )
