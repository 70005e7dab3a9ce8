"""A node's name resolves to another node of the run.

## How it is found
On several machines: the address that each node's name resolves to on every node, against the addresses that the
nodes' own interfaces have. An address that several machines have (a container bridge's) proves nothing.

## Why it matters
With two names swapped in /etc/hosts, ranks look for the rendezvous on the wrong machine and wait for it until the
time-out, or a log and a finding name the wrong machine.

## What to do
Correct /etc/hosts or DNS on the node that is named, or write addresses in `nodes`.

## Source
hosts(5); the addresses come from the kernel of each node (SIOCGIFCONF, `/proc/net/if_inet6`).

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks import fabric
from allranks.checks.context import Context, Findings, View
from allranks.core.untrusted import listing, mapping

NEEDS = ("network.resolved", "network.interfaces")
applies = fabric.several_machines


def check(context: Context) -> Findings:
    owners = owners_of(context)
    host = {view.name: number for number, group in enumerate(context.hosts) for view in group}
    for view in context.machines:
        for node in context.run.cluster.nodes:
            answer = mapping(view.map("network.resolved").get(node.address))
            found = [owners[str(one)] for one in listing(answer.get("addresses")) if str(one) in owners]
            if node.name not in host or not found or any(host[one] == host[node.name] for one in found):
                continue
            yield context.block(
                view,
                key="nodes",
                saw=f"{node.address} leads to {found[0]} on {view.name}",
                expected=f"an address of {node.name}",
                why="ranks would look for each other on the wrong machine.",
                fix=f"correct /etc/hosts or DNS on {view.name}, or nodes: {{{node.name}: its address}}",
            )


def owners_of(context: Context) -> dict[str, str]:
    """The node that has an address, for each address that one machine alone has."""
    found: dict[str, set[str]] = {}
    for view in context.machines:
        for address in addresses(view):
            found.setdefault(address, set()).add(view.name)
    return {address: names.pop() for address, names in found.items() if len(names) == 1}


def addresses(view: View) -> Iterator[str]:
    for interface in fabric.interfaces(view).values():
        for address in listing(mapping(interface).get("addresses")):
            yield str(address).partition("/")[0]
