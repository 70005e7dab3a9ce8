"""The driver is too old for torch's CUDA.

## How it is found
The CUDA version that the installed torch was built for, against the loaded driver.

## Why it matters
torch then finds no GPU ("The NVIDIA driver on your system is too old"), or fails at the first kernel.

## What to do
Update the driver, or install a torch that is built for an older CUDA (`--index-url .../whl/cu126`).

## Source
NVIDIA "CUDA Compatibility": CUDA 11.x needs driver 450 or newer, 12.x 525, 13.x 580.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks import versions
from allranks.checks.context import Context, Findings

NEEDS = ("gpus.driver", "software.torch_cuda")


def applies(context: Context) -> bool:
    return context.on_host and context.uses_gpu


LEAST = {11: 450, 12: 525, 13: 580}


def check(context: Context) -> Findings:
    for view in context.machines:
        cuda, driver = view.text("software.torch_cuda"), view.text("gpus.driver")
        major, branch = versions.branch(cuda), versions.branch(driver)
        least = LEAST.get(major) if major is not None else None
        if least is not None and branch is not None and branch < least:
            yield context.block(
                view,
                saw=f"{view.name} has driver {driver}, and a torch built for CUDA {cuda}",
                expected=f"driver {least} or newer for CUDA {major}.x",
                why="torch would find no GPU: 'the NVIDIA driver on your system is too old'.",
                fix=f"update the driver of {view.name}, or install torch for CUDA {major - 1 if major else '?'}.x",
            )
