"""A GPU waits for a memory row to be remapped, or has no spare rows left.

## How it is found
`remapped_row_failure` and `remapped_row_pending` (on older GPUs: pages that wait for retirement) of every
GPU that the run uses.

## Why it matters
A pending remap takes effect at the next reset only: until then the bad row is still in use. After a
failure there are no spare rows left.

## What to do
Pending: reset the GPU or reboot its node while nothing runs there. Failure: have the GPU replaced.

## Source
NVIDIA "GPU Memory Error Management": row remapping, RMA policy.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus

NEEDS = ("gpus.list",)
applies = on_gpus


def check(context: Context) -> Findings:
    for gpu in context.used_gpus:
        if gpu.get("rows.failure"):
            yield context.block(
                gpu,
                saw=f"{gpu} could not remap a bad memory row",
                expected="no failed remap",
                why="it has no spare rows left: the next error ends the run.",
                fix=f"leave it out, and have it replaced (serial {gpu.get('serial')})",
            )
        elif gpu.get("rows.pending"):
            yield context.warn(
                gpu,
                saw=f"{gpu} has a memory repair pending",
                expected="nothing pending",
                why="the bad row is in use until the GPU is reset.",
                fix=f"reboot {gpu.node} while nothing runs there",
            )
