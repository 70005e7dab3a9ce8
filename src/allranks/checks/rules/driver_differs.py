"""Nodes have different NVIDIA drivers.

## How it is found
The version of the loaded kernel module (or what nvidia-smi says) on every machine.

## Why it matters
Another branch means other CUDA features and other NCCL choices: peers may disagree on a transport and hang
at the first collective. On NVSwitch machines each node's Fabric Manager must follow its own driver, so that a
mixture is one more thing to keep right on every node.

## What to do
Install one version on all nodes, together with its Fabric Manager, and reboot.

## Source
`/proc/driver/nvidia/version`, nvidia-smi `driver_version`.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks import versions
from allranks.checks.context import Context, Findings, on_gpus

NEEDS = ("gpus.driver",)
applies = on_gpus


def check(context: Context) -> Findings:
    shown = [view for view in context.machines if view.text("gpus.driver")]
    for view, has, usual in context.odd_ones("gpus.driver", shown):
        say = context.note if versions.branch(has) == versions.branch(usual) else context.warn
        yield say(
            view,
            saw=f"{view.name} has driver {has}",
            expected=f"{usual}, as on other nodes",
            why="nodes of different drivers may choose different transports and hang at the first collective.",
            fix=f"install driver {usual} (with its Fabric Manager, if there is one) on {view.name}, and reboot",
        )
