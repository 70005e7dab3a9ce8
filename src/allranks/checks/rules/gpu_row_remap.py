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

from collections.abc import Iterator

from allranks.checks import gpus
from allranks.checks.context import Context
from allranks.core import Finding

NEEDS = ("gpus.list",)
applies = gpus.applies


def check(context: Context) -> Iterator[Finding]:
    for view, index, gpu in gpus.used(context):
        at = f"{gpus.label(index, gpu)} of {view.name}"
        if gpus.field(gpu, "rows.failure"):
            yield context.block(
                view,
                gpu=index,
                saw=f"{at} could not remap a bad memory row",
                expected="no failed remap",
                why="it has no spare rows left: the next error ends the run.",
                fix=f"leave it out, and have it replaced (serial {gpu.get('serial')})",
            )
        elif gpus.field(gpu, "rows.pending"):
            yield context.warn(
                view,
                gpu=index,
                saw=f"{at} has a memory repair pending",
                expected="nothing pending",
                why="the bad row is in use until the GPU is reset.",
                fix=f"reboot {view.name} while nothing runs there",
            )
