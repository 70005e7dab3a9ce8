"""A node's name resolves to nothing, or to different addresses on different nodes.

## How it is found
If `nodes` gives names: what each node resolves every name to.

## Why it matters
MASTER_ADDR is resolved on each node: one that finds nothing never joins, and one that finds another
machine joins a stranger.

## What to do
Give addresses (`nodes: {node-0: 10.0.0.1}`), or correct DNS and /etc/hosts.

## Source
torch 2.13 `TCPStore`; getaddrinfo(3).

Topic: network
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings, minority
from allranks.checks.phrases import listed
from allranks.core.net import is_loopback
from allranks.core.untrusted import listing, mapping

NEEDS = ("network.resolved",)
applies = fabric.several_machines


def check(context: Context) -> Findings:
    head = context.run.cluster.head
    if fabric.address_of(head.address) is not None:
        return
    found: dict = {}
    for view in context.answered:
        answer = mapping(view.map("network.resolved").get(head.address))
        addresses = sorted(str(a) for a in listing(answer.get("addresses")))
        if not addresses:
            reason = answer.get("reason") or "no reason is given"
            yield context.block(
                view,
                key="nodes",
                saw=f"{head.address}, the head, resolves to nothing on {view.name}: {reason}",
                expected="the head's address",
                why="this node would never join.",
                fix=f"nodes: {{{head.name}: its address}}, or add it to DNS or /etc/hosts",
            )
        elif not any(map(is_loopback, addresses)):  # those are `name-to-loopback`'s
            found[view] = tuple(addresses)
    for view, addresses, usual in minority(found):
        if not set(addresses) & set(usual):
            yield context.block(
                view,
                key="nodes",
                saw=f"{head.address}, the head, is {listed(addresses)} on {view.name}",
                expected=f"{listed(usual)}, as on other nodes",
                why="this node would call another machine.",
                fix=f"nodes: {{{head.name}: its address}}, or correct DNS or /etc/hosts on {view.name}",
            )
