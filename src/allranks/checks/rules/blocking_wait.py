"""The processor waits for every collective.

## How it is found
TORCH_NCCL_BLOCKING_WAIT (and its old name) in `env`.

## Why it matters
The program stops at each collective until it has ended, so ZeRO-3 cannot gather ahead: compute and
network take turns. It is meant for programs that catch the time-out themselves; the watchdog
(TORCH_NCCL_ASYNC_ERROR_HANDLING, on by default) ends a hanging rank without it.

## What to do
Take it out of `env`; a time-out is set with `ddp_timeout`.

## Source
torch 2.13 `ProcessGroupNCCL.hpp`: with blocking wait, asynchronous error handling is off.

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus
from allranks.checks.lint.run_settings import variable_lines

UNKNOWN_BLOCKS = False
applies = on_gpus

NAMES = ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT")


def check(context: Context) -> Findings:
    for line, where in variable_lines(context):
        if line.name in NAMES and str(line.value) not in ("0", ""):
            yield context.warn(
                where,
                saw=f"{line.name}={line.value}",
                expected="not set: the watchdog ends a hanging rank without it",
                why="nothing overlaps: ZeRO-3 gathers a layer only when the one before has been computed.",
                fix="take it out of env",
            )
