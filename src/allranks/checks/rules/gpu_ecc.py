"""A GPU has had memory errors that could not be corrected.

## How it is found
Uncorrectable ECC errors since the driver was loaded, the SRAM threshold that marks a GPU for replacement,
and whether ECC is on for some GPUs of the run and off for others. If ECC is on and no count can be read, the check
says so: it does not take that for none.

## Why it matters
An uncorrectable error ends the process that meets it (Xid 48, 63, 94, 95); a GPU that had one since its
last reset is likely to have the next. With ECC off, errors go unseen into the weights.

## What to do
Reset or reboot to let the GPU remap the row, then look again; if the count rises or the threshold is
exceeded, have the GPU replaced. `nvidia-smi -e 1` turns ECC on at the next reboot.

## Source
NVIDIA "GPU Memory Error Management": row remapping, SRAM thresholds, RMA policy.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks import gpus
from allranks.checks.context import Context, Findings, UsedGpu, on_gpus
from allranks.checks.phrases import listed

NEEDS = ("gpus.list",)
applies = on_gpus


def check(context: Context) -> Findings:
    uncounted: list[UsedGpu] = []
    for gpu in context.used_gpus:
        volatile = gpu.number("ecc.volatile")
        if volatile is None and gpu.get("ecc.on"):
            uncounted.append(gpu)
        if gpu.get("ecc.sram_threshold_exceeded"):
            yield context.block(
                gpu,
                saw=f"{gpu} has exceeded its SRAM error threshold",
                expected="none exceeded",
                why="NVIDIA asks to replace such a GPU: it will fail again.",
                fix=f"leave it out, and have it replaced (serial {gpu.get('serial')})",
            )
        elif volatile:
            yield context.block(
                gpu,
                saw=f"{gpu} has {volatile:.0f} uncorrectable memory errors since the driver was loaded",
                expected="0",
                why="the next one ends the run (Xid 48, 94 or 95).",
                fix=f"reboot {gpu.node}, so that the bad rows are remapped, and look again",
            )
    for view, found in gpus.by_node(uncounted).items():
        yield context.warn(
            view,
            saw=f"{view.name}: ECC is on, and nvidia-smi shows no error count of GPU "
            f"{listed(gpu.index for gpu in found)}",
            expected="a count of uncorrectable memory errors",
            why="whether these GPUs had memory errors is unknown.",
            fix=f"nvidia-smi -q -d ECC on {view.name}; a newer driver, or a container that may read the counters",
        )
    off = [f"{gpu.node} GPU {gpu.index}" for gpu in context.used_gpus if gpu.get("ecc.on") is False]
    if off and len(off) < sum(gpu.get("ecc.on") is not None for gpu in context.used_gpus):
        yield context.warn(
            key="gpus",
            saw=f"ECC is off on {listed(off, 6)} and on elsewhere",
            expected="ECC on all GPUs of the run",
            why="memory errors of these GPUs go unseen into the weights that all ranks share.",
            fix="as root on those nodes: nvidia-smi -e 1, then reboot",
        )
