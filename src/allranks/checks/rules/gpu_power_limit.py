"""A GPU's power limit is below its default, or below the others'.

## How it is found
The power limit of every GPU of the run against its board's default and against the other GPUs of its model.

## Why it matters
A lower limit lowers the clock under load, though nothing shows while the GPU is idle. One GPU at 250 of
400 W slows every step of all ranks.

## What to do
As root: `nvidia-smi -i INDEX -pl WATTS`, or leave it where somebody meant it (a rack's power budget).

## Source
nvidia-smi `current_power_limit`, `default_power_limit`.

Topic: gpus
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks import gpus
from allranks.checks.context import Context
from allranks.core import Finding

NEEDS = ("gpus.list",)
UNKNOWN_BLOCKS = False
applies = gpus.applies

SLACK = 0.97
"""Some boards report their limit a few watts below the default."""


def check(context: Context) -> Iterator[Finding]:
    for view, index, gpu in gpus.used(context):
        limit, default = gpus.amount(gpu, "power.limit_watts"), gpus.amount(gpu, "power.default_watts")
        if limit and default and limit < default * SLACK:
            yield context.warn(
                view,
                gpu=index,
                saw=f"{gpus.label(index, gpu)} of {view.name} is limited to {limit:.0f} W",
                expected=f"{default:.0f} W, its default",
                why="its clock falls under load, and every step of all ranks waits for it.",
                fix=f"as root on {view.name}: nvidia-smi -i {index} -pl {default:.0f}",
            )
