"""The driver is too old for torch's CUDA.

## How it is found
The CUDA version that the installed torch was built for, against the loaded driver and against the libcuda that the
loader finds: with the package cuda-compat a newer libcuda works on an older driver of a data center GPU. Images often
carry it outside the loader's folders, so that in a container this is a warning.

## Why it matters
torch then finds no GPU ("The NVIDIA driver on your system is too old"), or fails at the first kernel.

## What to do
Update the driver, install cuda-compat (data center GPUs only), or install a torch that is built for an older CUDA
(`--index-url .../whl/cu126`).

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
        compat = [versions.branch(one) or 0 for one in view.list("driver.libraries.libcuda")]
        if least is not None and branch is not None and branch < least and max(compat, default=0) < least:
            say = context.warn if view.text("system.container") else context.block
            yield say(
                view,
                saw=f"{view.name} has driver {driver}, and a torch built for CUDA {cuda}",
                expected=f"driver {least} or newer for CUDA {major}.x",
                why="without cuda-compat torch would find no GPU: 'the NVIDIA driver on your system is too old'.",
                fix=f"update the driver of {view.name}, or install torch for CUDA {major - 1 if major else '?'}.x",
            )
