"""The PCI bus holds more GPUs than the driver shows.

## How it is found
The NVIDIA display devices on the PCI bus against the list of nvidia-smi. Those that a driver keeps for virtual
machines (`vfio-pci`) are left out. A container and a SLURM job may have been given some of the GPUs, so nothing is
compared there.

## Why it matters
A GPU that fell off the bus (Xid 79) or failed to initialize is still in the machine, but ranks are numbered
without it: yesterday's GPU 5 is GPU 4 today.

## What to do
`dmesg | grep -i xid` on that node; a power cycle brings most of them back. In a container: give it all GPUs
(`--gpus all`).

## Source
`/sys/bus/pci/devices` (class 0x0300, 0x0302, vendor 0x10de); NVIDIA "Xid errors", Xid 79.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus

NEEDS = ("driver.gpus_on_bus", "gpus.list")
UNKNOWN_BLOCKS = False
applies = on_gpus


def check(context: Context) -> Findings:
    for view in context.machines:
        on_bus, shown = view.number("driver.gpus_on_bus"), len(view.list("gpus.list"))
        given = view.text("system.container") or view.text("driver.scheduler_job")
        # None at all is `gpus-missing`.
        if on_bus and shown and on_bus > shown and not given:
            yield context.warn(
                view,
                saw=f"{view.name} holds {on_bus:.0f} GPUs on its PCI bus, nvidia-smi lists {shown}",
                expected="all of them listed",
                why="a GPU has fallen off the bus or failed to start, and the others got new numbers.",
                fix=f"dmesg | grep -i xid on {view.name}; a power cycle brings most of them back",
            )
