"""The interface that a node's ranks use is not in the network of the other nodes, although another interface of the
node is.

## How it is found
The IPv4 networks of the interface that each node's ranks use. A node is reported only if its interface is not in
the network that most nodes share, and another of its interfaces is. Swapped cables or interface names in another
order have this effect. Networks that are routed, with one for each node or rack, are not judged.

## Why it matters
`NCCL_SOCKET_IFNAME=eth0` then means another network on that node. Its ranks listen at addresses that the others cannot
reach, or reach only over a slow route: they wait in the first collective until the time-out.

## What to do
`interface: NAME` under that node, with the interface that is in the others' network; or swap the cables.

## Source
NCCL user guide, NCCL_SOCKET_IFNAME; torch 2.13 gloo binds to the address of the interface that it is told.

Topic: network
"""

from __future__ import annotations

import ipaddress
from collections import Counter

from allranks.checks import fabric
from allranks.checks.context import Context, Findings, View
from allranks.core.untrusted import listing, mapping

NEEDS = ("network.interfaces",)
applies = fabric.several_machines


def check(context: Context) -> Findings:
    used = {view: fabric.interface_of_ranks(context, view) or "" for view in context.machines}
    networks = {view: networks_of(view, name) for view, name in used.items()}
    counts = Counter(network for found in networks.values() for network in found)
    shared = {network for network, count in counts.items() if 2 * count > len(networks)}
    for view, name in used.items():
        if not shared or not networks[view] or networks[view] & shared:
            continue
        better = [
            other for other in fabric.interfaces(view) if other != name and networks_of(view, other) & shared
        ]
        if better:
            usual = min(shared, key=str)
            yield context.block(
                view,
                key="network.interface",
                saw=f"{name} of {view.name} is in {min(networks[view], key=str)}, and its {better[0]} is in {usual}",
                expected=f"an interface in {usual}, as on other nodes",
                why="the other ranks cannot reach its ranks there, or only over another way.",
                fix=f"interface: {better[0]} under {view.name}, or correct its cables or addresses",
            )


def networks_of(view: View, name: str) -> set[ipaddress.IPv4Network]:
    """The IPv4 networks of an interface that is up; link-local ones are left out."""
    interface = mapping(fabric.interfaces(view).get(name))
    found = set()
    for address in listing(interface.get("addresses")) if interface.get("up") else ():
        try:
            network = ipaddress.IPv4Interface(str(address)).network
        except ValueError:
            continue
        if not network.is_link_local and not network.is_loopback:
            found.add(network)
    return found
