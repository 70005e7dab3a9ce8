"""A node's packet filter refuses what the run needs.

## How it is found
If the run has several machines, allranks reads the input policy and rules of iptables or nftables on every node
(only root can read them). They must admit the rendezvous port on the head, and connections between nodes in
general: NCCL and gloo listen on ports that the kernel chooses.

## Why it matters
Dropped packets look like a hang: torchrun waits 600 s in the rendezvous, and NCCL for its timeout at the
first collective, since its ports are not the rendezvous port.

## What to do
Let the nodes reach each other on all ports: `ufw allow from 10.0.0.0/24`, or
`iptables -I INPUT -s 10.0.0.0/24 -j ACCEPT`. Switching the firewall off is not needed.

## Source
NCCL user guide, "Troubleshooting, networking"; torch 2.13 TCPStore; gloo listens on ephemeral ports.

Topic: network
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Callable
from typing import Any

from allranks.checks import fabric
from allranks.checks.context import Context, Findings, View
from allranks.checks.phrases import listed
from allranks.core.untrusted import listing, mapping

NEEDS = ("firewall.input",)
UNKNOWN_BLOCKS = False
applies = fabric.several_machines


def check(context: Context) -> Findings:
    for view in context.machines:
        rules = view.map("firewall.input")
        shut = rules.get("policy") == "drop" or rules.get("rejects") is True
        if not shut:
            continue
        lets_in = sources_of(expanded(context, view, listing(rules.get("everything_from"))))
        closed = [other for other in others(context, view) if not lets_in(other)]
        if not closed:
            continue
        followed = not any("chain" in str(port) for port in listing(rules.get("ports")))
        port = context.run.network.rendezvous_port if view.is_head else None
        refused = port is not None and not port_open(listing(rules.get("ports")), port)
        say = context.warn if followed else context.note
        yield say(
            view,
            saw=f"the packet filter of {view.name} lets in only what its rules name, and none lets in "
            f"{listed(closed)}" + (f"; port {port} is not open either" if refused and followed else ""),
            expected="the nodes of the run reach each other on all ports",
            why="NCCL and gloo listen on ports that the kernel chooses: the first collective would hang."
            if followed
            else "its rules lead into chains that are not followed here, so this may be fine.",
            fix=f"as root on {view.name}, for each node: iptables -I INPUT -s {closed[0]} -j ACCEPT",
        )


def others(context: Context, view: View) -> list[str]:
    return [
        node.address
        for node in context.run.cluster.nodes
        if node.name != view.name and fabric.address_of(node.address) is not None
    ]


def expanded(context: Context, view: View, sources: list[Any]) -> list[Any]:
    """The sources, with the networks of each interface that lets everything in; `anywhere` if the run uses it."""
    found: list[Any] = []
    for source in sources:
        name = str(source).partition("interface ")[2]
        if not name:
            found.append(source)
            continue
        begins, wild = name.rstrip("+*"), name[-1:] in "+*"
        alike = [one for one in fabric.interfaces(view) if one == name or (wild and one.startswith(begins))]
        if fabric.interface_of_ranks(context, view) in alike:
            found.append("anywhere")
        found += [
            address
            for one in alike
            for address in listing(mapping(fabric.interfaces(view)[one]).get("addresses"))
        ]
    return found


def sources_of(sources: list[Any]) -> Callable[[str], bool]:
    """Whether an address is let in. Each source is read once: a thousand nodes may have a rule for each other one."""
    networks = []
    for source in sources:
        with contextlib.suppress(ValueError):
            networks.append(ipaddress.ip_network(str(source), strict=False))
    hosts = {network.network_address for network in networks if network.num_addresses == 1}
    wide = [network for network in networks if network.num_addresses > 1]

    def lets_in(address: str) -> bool:
        mine = fabric.address_of(address)
        return "anywhere" in sources or (
            mine is not None and (mine in hosts or any(mine in network for network in wide))
        )

    return lets_in


def port_open(ports: list, port: int) -> bool:
    for entry in ports:
        low, _, high = str(entry).partition(":")
        if low.isdigit() and int(low) <= port <= (int(high) if high.isdigit() else int(low)):
            return True
    return False
