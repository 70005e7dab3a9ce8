"""The installed driver is not the one that is loaded.

## How it is found
The version of the `nvidia` module on disk against the loaded one.

## Why it matters
The next reboot, or the next time the module is loaded, brings another version: libraries and Fabric Manager
have mostly been upgraded with it already, and then nothing works until the reboot. A run that must be resumed
after it finds another node.

## What to do
Reboot before a long run, and hold the packages (`apt-mark hold`) or switch unattended upgrades off.

## Source
`modinfo -F version nvidia`, `/proc/driver/nvidia/version`.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus

NEEDS = ("driver.module", "driver.module_on_disk")
UNKNOWN_BLOCKS = False
applies = on_gpus


def check(context: Context) -> Findings:
    for view in context.machines:
        loaded, disk = view.text("driver.module.version"), view.text("driver.module_on_disk")
        if loaded and disk and loaded != disk:
            yield context.note(
                view,
                saw=f"{view.name} runs driver {loaded} and has {disk} on disk",
                expected="the same",
                why="the next reboot changes the driver under a run that would be resumed.",
                fix=f"reboot {view.name} before a long run, and hold the driver's packages",
            )
