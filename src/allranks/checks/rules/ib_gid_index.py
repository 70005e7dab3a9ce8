"""NCCL_IB_GID_INDEX is not the index of a RoCE v2 address.

## How it is found
On RoCE ports: the GID at NCCL_IB_GID_INDEX on every active port. On InfiniBand ports the index has no
effect.

## Why it matters
A GID of RoCE v1 does not cross routers, and an index that is not set ends each connection with "ibv_modify_qp failed"
or a time-out at the first collective. Guides set 3, which is RoCE v2 of the first IPv4 address on most machines, but
not on all.

## What to do
Leave NCCL_IB_GID_INDEX out: NCCL 2.21 and later choose a RoCE v2 GID by themselves. `show_gids` lists
them.

## Source
NCCL user guide, NCCL_IB_GID_INDEX (default -1 since 2.21: chosen automatically).

Topic: network
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings
from allranks.core.untrusted import listing, mapping

NEEDS = ("infiniband.devices",)
applies = fabric.wants_infiniband


def check(context: Context) -> Findings:
    for view in context.machines:
        value = context.environment(view).get("NCCL_IB_GID_INDEX")
        if value is None or not value.isdigit():
            continue
        ports = fabric.active_ports(view)
        roce = [one for one in ports if one[2].get("layer") == "Ethernet"]
        if ports and all(port.get("layer") == "InfiniBand" for *_, port in ports):
            yield context.note(
                view,
                key="env.NCCL_IB_GID_INDEX",
                saw=f"NCCL_IB_GID_INDEX={value}, and the ports of {view.name} are InfiniBand",
                expected="not set: it is for RoCE",
                why="InfiniBand ports are addressed by LID: the index only matters across subnets, and is 0 there.",
                fix="take NCCL_IB_GID_INDEX out of env",
            )
        for device, number, port in roce:
            gids = {gid.get("index"): gid for gid in (mapping(one) for one in listing(port.get("gids")))}
            if not gids:
                continue  # an active port has at least one: they were not to be read
            gid = gids.get(int(value))
            kind = str(gid.get("type")) if gid else "not set"
            if "v2" not in kind:
                good = [index for index, one in gids.items() if "v2" in str(one.get("type"))]
                yield context.block(
                    view,
                    key="env.NCCL_IB_GID_INDEX",
                    saw=f"GID {value} of {device}/{number} on {view.name} is {kind}",
                    expected=f"RoCE v2, which is at index {good[0]}" if good else "RoCE v2",
                    why="the first collective between nodes would fail or time out.",
                    fix="take NCCL_IB_GID_INDEX out of env: NCCL chooses a RoCE v2 address by itself",
                )
                break
