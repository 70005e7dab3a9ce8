"""A node has no route to another node, or a route over the wrong interface.

## How it is found
The interface and source address that each node's kernel takes to every other node.

## Why it matters
Without a route the node never joins. A route over a container bridge (docker0, virbr0) or loopback means
that the address belongs to something else on that machine: the bridge's default network 172.17.0.0/16 in
place of the real one.

## What to do
`ip route get ADDRESS` on that node shows the same; correct the route, or give the address of a network that all
nodes share.

## Source
The kernel's routing table, asked by connecting a UDP socket (no packet is sent).

Topic: network
"""

from __future__ import annotations

import re

from allranks.checks import fabric
from allranks.checks.context import Context, Findings
from allranks.core.untrusted import mapping

NEEDS = ("network.routes",)
applies = fabric.several_machines

NOWHERE = re.compile(r"docker|br-[0-9a-f]{12}$|virbr|veth|cni|lo$|podman|lxcbr")
"""Interfaces that lead to this machine's own containers. Docker names its further bridges `br-` and 12 digits; nodes
of OpenShift and OpenStack have their address on a bridge such as `br-ex`."""


def check(context: Context) -> Findings:
    nodes = {node.name: node for node in context.run.cluster.nodes}
    host = {view.name: number for number, group in enumerate(context.hosts) for view in group}
    for view in context.machines:
        for name, found in view.map("network.routes").items():
            other, way = nodes.get(name), mapping(found)
            if other is None or host.get(name) == host.get(view.name):
                continue
            interface = str(way.get("interface") or "")
            if way.get("reason"):
                saw = f"{view.name} has no route to {other.name} ({other.address}): {way['reason']}"
            elif NOWHERE.match(interface):
                saw = f"{view.name} reaches {other.name} ({other.address}) over {interface}"
            else:
                continue
            yield context.block(
                view,
                key="nodes",
                saw=saw,
                expected="a route over a network that both share",
                why="the node would not meet the others.",
                fix=f"ip route get {other.address} on {view.name}; correct the route, or use another address",
            )
            break  # mostly all others are out of reach in the same way
