"""An InfiniBand or RoCE port is not active.

## How it is found
The state of every port of `/sys/class/infiniband` on every node that the ranks may use (NCCL_IB_HCA, if it is set).

## Why it matters
NCCL uses the active ports and does not mention the others: a node with 7 of 8 rails makes two GPUs share one, and all
ranks become as slow as those two. A port that is INIT has a cable but no subnet manager.

## What to do
`ibstat` on that node; look at the cable and the switch port (DOWN, Polling), or at the subnet manager
(INIT).

## Source
Linux `Documentation/ABI/stable/sysfs-class-infiniband`: port states DOWN, INIT, ARMED, ACTIVE.

Topic: network
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings

NEEDS = ("infiniband.devices",)
applies = fabric.wants_infiniband


def check(context: Context) -> Findings:
    read = [view for view in context.machines if view.has("infiniband.devices")]
    ports = {view: fabric.chosen_ports(context, view) for view in read}
    counts = {view: sum(one[2].get("state") == "ACTIVE" for one in found) for view, found in ports.items()}
    most = max(counts.values(), default=0)
    for view in read:
        active = counts[view]
        down = [one for one in ports[view] if one[2].get("state") != "ACTIVE"]
        # Boards have ports that are never cabled: only what other nodes have is missed.
        if active < most:
            names = [
                f"{device}/{number} {port.get('state')} ({port.get('physical')})"
                for device, number, port in down
            ]
            yield context.warn(
                view,
                saw=f"{view.name} has {active} active InfiniBand or RoCE ports"
                + (f"; {', '.join(names[:4])}" if names else ""),
                expected=f"{most}, as on the node with most",
                why="its GPUs share the ports that are left, and all ranks go at their pace.",
                fix=f"ibstat on {view.name}: a cable or switch port (DOWN), or the subnet manager (INIT)",
            )
