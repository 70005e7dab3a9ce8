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

from allranks.checks.context import Context, Findings, on_gpus

NEEDS = ("gpus.list",)
applies = on_gpus


def check(context: Context) -> Findings:
    for gpu in context.used_gpus:
        if gpu.get("mig"):
            yield context.block(
                gpu,
                saw=f"{gpu} is in MIG mode with {gpu.get('mig_devices') or 0} instances",
                expected="MIG off",
                why="a rank would get one instance at most, and NCCL cannot link instances.",
                fix=f"as root on {gpu.node}, while nothing runs there: nvidia-smi -i {gpu.index} -mig 0",
            )
        elif gpu.get("mig_pending"):
            yield context.warn(
                gpu,
                saw=f"{gpu} goes into MIG mode at its next reset",
                expected="MIG off",
                why="after a reboot the run could not be resumed there.",
                fix=f"as root on {gpu.node}: nvidia-smi -i {gpu.index} -mig 0",
            )
