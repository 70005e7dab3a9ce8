"""The ranks of a node advertise an address that the others do not reach.

## How it is found
A node's ranks are set to another interface than the one that leads to the head. The other nodes then try to reach a
listener at that interface's address, and the answer must come from this node.

## Why it matters
gloo and NCCL tell the others the address of their interface. A container bridge (docker0 is 172.17.0.1 on every node)
leads each node back to itself: the rendezvous works, and the first collective hangs until its timeout.

## What to do
`network: {interface: auto}`, or the printed name under that node.

## Source
Connections of all other nodes to that address; the answer proves which node gave it.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.core.net import is_loopback
from allranks.probe.judge import Context, outcomes


def check(context: Context) -> Iterator[Finding]:
    for ear in context.off_route:
        if is_loopback(ear.address) and is_loopback(ear.source):
            continue  # that is name-loops-back
        into = [dial for pair, dial in context.data.items() if pair[1] == ear.node]
        if ear.node in context.astray:
            yield context.block(
                ear.node,
                key="network.interface",
                saw=f"its ranks are told {ear.interface} ({ear.address}), which no other node reaches: "
                f"{outcomes(into)}; its way to {context.head} is {ear.way} ({ear.source})",
                expected="an address that the other nodes reach",
                why="the rendezvous works, and the first collective waits for its timeout.",
                fix=f"network: {{interface: auto}}, or interface: {ear.way} under {ear.node}",
            )
        elif into:
            yield context.note(
                ear.node,
                key="network.interface",
                saw=f"its ranks are told {ear.interface} ({ear.address}), and its way to {context.head} is {ear.way} "
                f"({ear.source}); the others reach it there",
                why="the data takes another network than the rendezvous.",
                fix="nothing, if you want that",
            )
