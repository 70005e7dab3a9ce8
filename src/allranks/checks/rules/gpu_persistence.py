"""Persistence mode is off on a GPU.

## How it is found
The persistence mode of the GPUs that the run uses.

## Why it matters
Without it the driver unloads a GPU's state when its last process ends and builds it up again for the next:
some seconds at each start, settings such as a power limit are lost in between, and errors of the last run
are forgotten before anybody looks.

## What to do
Start `nvidia-persistenced`, or as root `nvidia-smi -pm 1`.

## Source
NVIDIA "Driver Persistence".

Topic: gpus
"""

from __future__ import annotations

from allranks.checks import gpus
from allranks.checks.context import Context, Findings, on_gpus
from allranks.checks.phrases import listed

NEEDS = ("gpus.list",)
UNKNOWN_BLOCKS = False
applies = on_gpus


def check(context: Context) -> Findings:
    off = [gpu for gpu in context.used_gpus if gpu.get("persistence") is False]
    for view, found in gpus.by_node(off).items():
        yield context.note(
            view,
            saw=f"persistence mode is off on GPU {listed(gpu.index for gpu in found)} of {view.name}",
            expected="on",
            why="each start takes some seconds more, and settings are lost between processes.",
            fix=f"on {view.name}: systemctl enable --now nvidia-persistenced, or as root nvidia-smi -pm 1",
        )
