"""A machine has GPUs on its bus and no working NVIDIA driver.

## How it is found
On machines with NVIDIA GPUs on the PCI bus: whether the `nvidia` and `nvidia_uvm` modules are loaded
(`nouveau` in their place), and whether the device files may be opened.

## Why it matters
Without `nvidia` there is no GPU; without `/dev/nvidia-uvm` nvidia-smi works and every CUDA program fails with
error 999 or 100.

## What to do
`modprobe nvidia nvidia_uvm`, blacklist nouveau, put the user into the group of the device files, or give
the container its devices (`--gpus all`).

## Source
`/sys/module`, `/dev/nvidia*`; NVIDIA driver README, "Device files".

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View, on_gpus

NEEDS = ("driver.gpus_on_bus", "driver.modules", "driver.device_files")
applies = on_gpus


def check(context: Context) -> Findings:
    for view in context.machines:
        # The modules alone tell enough if the device files cannot be listed.
        is_read = all(view.has(fact) for fact in NEEDS[:2])
        if is_read and view.number("driver.gpus_on_bus") and not view.text("system.container"):
            trouble = trouble_of(view)
            if trouble is not None:
                # The first CUDA program loads nvidia_uvm by itself where nvidia-modprobe may.
                say = context.block if "nvidia" not in view.list("driver.modules") else context.warn
                yield say(
                    view,
                    saw=f"{view.name} {trouble[0]}",
                    expected="the nvidia and nvidia_uvm modules, and /dev/nvidia-uvm that the run's user may open",
                    why="no CUDA program can start there."
                    if "nvidia" not in view.list("driver.modules")
                    else "unless nvidia-modprobe makes it at the first use, every CUDA program fails there.",
                    fix=f"as root on {view.name}: {trouble[1]}",
                )


def trouble_of(view: View) -> tuple[str, str] | None:
    modules, files = view.list("driver.modules"), view.list("driver.device_files")
    if "nvidia" not in modules:
        if "nouveau" in modules:
            return (
                "has nouveau loaded in place of the NVIDIA driver",
                "blacklist nouveau, update-initramfs -u, reboot",
            )
        return "has no nvidia module loaded", "modprobe nvidia, or install a driver for this kernel"
    if "nvidia_uvm" not in modules:
        return "has no nvidia_uvm module loaded", "nvidia-modprobe -u -c 0"
    if view.has("driver.device_files") and "nvidia-uvm" not in files:
        return "has no /dev/nvidia-uvm that this user may open", "nvidia-modprobe -u -c 0; ls -l /dev/nvidia*"
    return None
