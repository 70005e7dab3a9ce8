"""A GPU's power limit is below its default, or below the others'.

## How it is found
The power limit of every GPU of the run against its board's default and against the other GPUs of its model.

## Why it matters
A lower limit lowers the clock under load, though nothing shows while the GPU is idle. One GPU at 250 of
400 W slows every step of all ranks.

## What to do
As root: `nvidia-smi -i INDEX -pl WATTS`, or leave it if it is intended (a rack's power budget).

## Source
nvidia-smi `current_power_limit`, `default_power_limit`.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus

NEEDS = ("gpus.list",)
UNKNOWN_BLOCKS = False
applies = on_gpus

SLACK = 0.97
"""Some boards report their limit a few watts below the default."""


def check(context: Context) -> Findings:
    for gpu in context.used_gpus:
        limit, default = gpu.number("power.limit_watts"), gpu.number("power.default_watts")
        if limit and default and limit < default * SLACK:
            yield context.warn(
                gpu,
                saw=f"{gpu} is limited to {limit:.0f} W",
                expected=f"{default:.0f} W, its default",
                why="its clock falls under load, and every step of all ranks waits for it.",
                fix=f"as root on {gpu.node}: nvidia-smi -i {gpu.index} -pl {default:.0f}",
            )
