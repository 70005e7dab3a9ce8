"""A GPU asks to be reset or drained.

## How it is found
`gpu_recovery_action` and `reset_required` of the GPUs that the run uses.

## Why it matters
The driver reports a state of the GPU that only a reset, a drain or a reboot clears. A rank on it fails at
its first use, or computes on a device that is known to be bad.

## What to do
Do what the GPU asks for while nothing runs on its node.

## Source
NVML `nvmlDeviceGetGpuRecoveryAction` (None, Reset, Reboot, Drain P2P, Drain and Reset).

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
        action = gpu.get("recovery")
        if action or gpu.get("reset_required"):
            yield context.block(
                view,
                gpu=index,
                saw=f"{gpus.label(index, gpu)} of {view.name} asks for: {action or 'a reset'}",
                expected="no recovery action",
                why="a rank on it would fail at its first use, or compute on a bad device.",
                fix=f"reboot {view.name} while nothing runs there, or leave this GPU out",
            )
