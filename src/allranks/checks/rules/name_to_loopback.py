"""For the other nodes, a node's address is their own loopback.

## How it is found
On several machines: the addresses of the run's nodes as each node resolves them, and the head's own.

## Why it matters
If the head's name resolves to 127.0.0.1 or 127.0.1.1 (Debian's installer writes such a line into
/etc/hosts), the head listens for the others on its loopback, or a node looks for the head on itself:
"connection refused", or a wait of 600 s.

## What to do
Give `nodes` addresses in place of names, or correct /etc/hosts on the nodes that are named.

## Source
torch 2.13 `TCPStore` connects to what MASTER_ADDR resolves to on each node; hosts(5).

Topic: network
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings, View
from allranks.core import Node
from allranks.core.net import is_loopback
from allranks.core.untrusted import listing, mapping

NEEDS = ("network.resolved",)
applies = fabric.several_machines


def check(context: Context) -> Findings:
    nodes = context.run.cluster.nodes
    written = {node.name for node in nodes if is_loopback(node.address)}
    named = [node for node in nodes if fabric.address_of(node.address) is None]
    for view in context.answered:
        for node in [*(n for n in nodes if n.name in written), *named]:
            mine = node.name == view.name
            # Its own name on loopback harms the head alone, which then listens there.
            if mine and not view.is_head:
                continue
            looping = [node.address] if node.name in written else resolved(view, node)
            if looping:
                yield context.block(
                    view,
                    key="nodes",
                    saw=f"{node.address} is {looping[0]} on {view.name}",
                    expected="an address that leads to " + node.name,
                    why="the head would be reachable by itself alone."
                    if mine
                    else f"{view.name} would call itself.",
                    fix=f"nodes: {{{node.name}: its address}}, or correct /etc/hosts on {view.name}",
                )


def resolved(view: View, node: Node) -> list[str]:
    """The loopback addresses that the node's name resolves to here."""
    found = mapping(view.map("network.resolved").get(node.address))
    return [str(address) for address in listing(found.get("addresses")) if is_loopback(str(address))]
