"""A GPU has had memory errors that could not be corrected.

## How it is found
Uncorrectable ECC errors since the driver was loaded, the SRAM threshold that marks a GPU for replacement,
and whether ECC is on for some GPUs of the run and off for others. If ECC is on and no count can be read, the check
says so: it does not take that for none.

## Why it matters
An uncorrectable error ends the process that meets it (Xid 48, 63, 94, 95); a GPU that had one since its
last reset is likely to have the next. With ECC off, errors go unseen into the weights.

## What to do
Reset or reboot to let the GPU remap the row, then look again; where the count rises or the threshold is
exceeded, have the GPU replaced. `nvidia-smi -e 1` turns ECC on at the next reboot.

## Source
NVIDIA "GPU Memory Error Management": row remapping, SRAM thresholds, RMA policy.

Topic: gpus
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks import gpus
from allranks.checks.context import Context, View
from allranks.checks.phrases import listed
from allranks.core import Finding

NEEDS = ("gpus.list",)
applies = gpus.applies


def check(context: Context) -> Iterator[Finding]:
    found = list(gpus.used(context))
    uncounted: dict[View, list[int]] = {}
    for view, index, gpu in found:
        volatile = gpus.amount(gpu, "ecc.volatile")
        if volatile is None and gpus.field(gpu, "ecc.on"):
            uncounted.setdefault(view, []).append(index)
        if gpus.field(gpu, "ecc.sram_threshold_exceeded"):
            yield context.block(
                view,
                gpu=index,
                saw=f"{gpus.label(index, gpu)} of {view.name} has exceeded its SRAM error threshold",
                expected="none exceeded",
                why="NVIDIA asks to replace such a GPU: it will fail again.",
                fix=f"leave it out, and have it replaced (serial {gpu.get('serial')})",
            )
        elif volatile:
            yield context.block(
                view,
                gpu=index,
                saw=f"{gpus.label(index, gpu)} of {view.name} has {volatile:.0f} uncorrectable memory errors "
                "since the driver was loaded",
                expected="0",
                why="the next one ends the run (Xid 48, 94 or 95).",
                fix=f"reboot {view.name}, so that the bad rows are remapped, and look again",
            )
    for view, indices in uncounted.items():
        yield context.warn(
            view,
            saw=f"{view.name}: ECC is on, and nvidia-smi shows no error count of GPU {listed(map(str, indices))}",
            expected="a count of uncorrectable memory errors",
            why="whether these GPUs had memory errors is unknown.",
            fix=f"nvidia-smi -q -d ECC on {view.name}; a newer driver, or a container that may read the counters",
        )
    off = [f"{view.name} GPU {index}" for view, index, gpu in found if gpus.field(gpu, "ecc.on") is False]
    if off and len(off) < sum(gpus.field(gpu, "ecc.on") is not None for _, _, gpu in found):
        yield context.warn(
            key="gpus",
            saw=f"ECC is off on {listed(off, 6)} and on elsewhere",
            expected="ECC on all GPUs of the run",
            why="memory errors of these GPUs go unseen into the weights that all ranks share.",
            fix="as root on those nodes: nvidia-smi -e 1, then reboot",
        )
