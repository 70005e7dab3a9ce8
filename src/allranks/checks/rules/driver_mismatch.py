"""The loaded kernel module and the driver's libraries are of different versions.

## How it is found
The version of the loaded `nvidia` module against those of libcuda and libnvidia-ml that the loader finds.

## Why it matters
They must match to the patch level: every CUDA call fails with "Driver/library version mismatch" (NVML error
18, CUDA error 803). It comes after an unattended upgrade of the packages without a reboot, or in a
container that carries libraries of its own.

## What to do
Reboot, or unload and load the modules while nothing uses them; on a shared machine hold the packages
(`apt-mark hold`). In a container: remove the libraries that came with the image, the toolkit mounts the
host's.

## Source
`/proc/driver/nvidia/version`; the names of the libraries' files; CUDA error 803
(cudaErrorSystemDriverMismatch).

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus
from allranks.checks.phrases import listed

NEEDS = ("driver.module", "driver.libraries")
applies = on_gpus


def check(context: Context) -> Findings:
    for view in context.machines:
        module = view.text("driver.module.version")
        if module is None:
            continue
        for library in ("libcuda", "libnvidia-ml"):
            versions = view.list(f"driver.libraries.{library}")
            if versions and module not in versions:
                yield context.block(
                    view,
                    saw=f"{view.name}: kernel module {module}, {library} {listed(versions)}",
                    expected="the same version to the patch level",
                    why="every CUDA call fails with 'driver/library version mismatch'.",
                    fix=f"reboot {view.name}, or install driver {module}'s libraries there",
                )
                break
            if len(versions) > 1:
                yield context.warn(
                    view,
                    saw=f"{view.name} has {library} in {len(versions)} versions: {listed(versions)}",
                    expected=f"{module} alone, as the kernel module",
                    why="the library path of a process decides which one it gets.",
                    fix=f"remove all but {module} on {view.name}",
                )
                break
