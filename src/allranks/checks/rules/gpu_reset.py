"""A GPU asks to be reset or drained.

## How it is found
`gpu_recovery_action` and `reset_required` of the GPUs that the run uses.

## Why it matters
The driver reports a state of the GPU that only a reset, a drain or a reboot clears. A rank on it fails at
its first use, or computes on a device that is known to be bad.

## What to do
Take the recovery action that the driver reports, while nothing runs on the node.

## Source
NVML `nvmlDeviceGetGpuRecoveryAction` (None, Reset, Reboot, Drain P2P, Drain and Reset).

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus

NEEDS = ("gpus.list",)
applies = on_gpus


def check(context: Context) -> Findings:
    for gpu in context.used_gpus:
        action = gpu.get("recovery")
        if action or gpu.get("reset_required"):
            yield context.block(
                gpu,
                saw=f"{gpu} asks for: {action or 'a reset'}",
                expected="no recovery action",
                why="a rank on it would fail at its first use, or compute on a bad device.",
                fix=f"reboot {gpu.node} while nothing runs there, or leave this GPU out",
            )
