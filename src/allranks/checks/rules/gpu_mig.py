"""A GPU is split by MIG.

## How it is found
The MIG mode of every GPU that the run uses, current and pending.

## Why it matters
A process sees one MIG instance at most: a part of the memory and of the processors. NCCL does not talk
between MIG instances over NVLink or PCIe peer-to-peer, and an enabled MIG without instances shows no device at
all.

## What to do
As root, while nothing runs there: `nvidia-smi -i INDEX -mig 0`, then reset the GPU. Or give the run other
nodes.

## Source
NVIDIA "Multi-Instance GPU User Guide": application considerations (one instance a process, no P2P).

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
        if gpu.get("mig"):
            yield context.block(
                view,
                gpu=index,
                saw=f"{at} is in MIG mode with {gpu.get('mig_devices') or 0} instances",
                expected="MIG off",
                why="a rank would get one instance at most, and NCCL cannot link instances.",
                fix=f"as root on {view.name}, while nothing runs there: nvidia-smi -i {index} -mig 0",
            )
        elif gpu.get("mig_pending"):
            yield context.warn(
                view,
                gpu=index,
                saw=f"{at} goes into MIG mode at its next reset",
                expected="MIG off",
                why="after a reboot the run could not be resumed there.",
                fix=f"as root on {view.name}: nvidia-smi -i {index} -mig 0",
            )
