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

from collections.abc import Iterator

from allranks.checks import gpus
from allranks.checks.context import Context, View
from allranks.checks.phrases import listed
from allranks.core import Finding

NEEDS = ("gpus.list",)
UNKNOWN_BLOCKS = False
applies = gpus.applies


def check(context: Context) -> Iterator[Finding]:
    off: dict[View, list[int]] = {}
    for view, index, gpu in gpus.used(context):
        if gpu.get("persistence") is False:
            off.setdefault(view, []).append(index)
    for view, indices in off.items():
        yield context.note(
            view,
            saw=f"persistence mode is off on GPU {listed(indices)} of {view.name}",
            expected="on",
            why="each start takes some seconds more, and settings are lost between processes.",
            fix=f"on {view.name}: systemctl enable --now nvidia-persistenced, or as root nvidia-smi -pm 1",
        )
