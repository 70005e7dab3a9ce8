"""A GPU waits for a memory row to be remapped, or has no spare rows left.

## How it is found
`remapped_row_failure` and `remapped_row_pending` of every GPU that the run uses; on GPUs before Ampere, the pages
that wait for retirement and the number of those that are retired.

## Why it matters
A pending remap takes effect at the next reset only: until then the bad row is still in use. After a
failure there are no spare rows left. A GPU before Ampere can retire at most 64 pages.

## What to do
Pending: reset the GPU or reboot its node while nothing runs there. Failure, or close to 64 retired pages: have the
GPU replaced.

## Source
NVIDIA "GPU Memory Error Management": row remapping, page retirement (64 at most), RMA policy; "Dynamic Page
Retirement".

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus

NEEDS = ("gpus.list",)
applies = on_gpus

MANY_RETIRED = 60
"""Of 64 that the driver can keep; pages of 4 KiB, so that the memory which they take does not matter."""


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
        retired = gpu.number("rows.retired_pages") or 0
        if retired >= MANY_RETIRED:
            yield context.warn(
                gpu,
                saw=f"{gpu} has retired {retired:.0f} bad memory pages",
                expected=f"fewer than {MANY_RETIRED}: at most 64 can be retired",
                why="its memory keeps failing, and soon no further bad page can be set aside.",
                fix=f"leave it out, and ask for its replacement (serial {gpu.get('serial')})",
            )
