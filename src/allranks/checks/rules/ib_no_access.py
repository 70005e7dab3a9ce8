"""InfiniBand ports are active, and the run's user may not open them.

## How it is found
`/dev/infiniband/uverbs*` that the run's user may open, on nodes with active ports.

## Why it matters
NCCL then falls back to TCP without an error, on this node alone or on all. In a container the devices must
be passed on besides the network.

## What to do
`--device=/dev/infiniband` for the container (and `--cap-add=IPC_LOCK`), or put the user into the group that
owns the devices.

## Source
ibverbs opens `/dev/infiniband/uverbs*`; NCCL user guide, "Running NCCL inside containers".

Topic: network
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings

NEEDS = ("infiniband.devices", "infiniband.verbs")
applies = fabric.wants_infiniband


def check(context: Context) -> Findings:
    for view in context.machines:
        if not view.has("infiniband.verbs"):
            continue
        ports = fabric.active_ports(view)
        verbs = [name for name in view.list("infiniband.verbs") if str(name).startswith("uverbs")]
        if ports and not verbs:
            yield context.warn(
                view,
                saw=f"{view.name} has {len(ports)} active ports, and this user may open no /dev/infiniband/uverbs*",
                expected="one device a port",
                why="NCCL falls back to TCP without an error.",
                fix="for a container: --device=/dev/infiniband --cap-add=IPC_LOCK; else the devices' group",
            )
