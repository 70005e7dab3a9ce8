"""The interface of each node is the one that its traffic takes.

## How it is found
The connection of each node to the head: the address that the node gives itself, the address that the head
sees, and the interface that holds it.

## Why it matters
It is what NCCL_SOCKET_IFNAME (`=name`) and GLOO_SOCKET_IFNAME (one exact name) must hold. Where the head sees
another address, somebody between translates addresses, and what the ranks advertise may not be reachable.

## What to do
Nothing where it is proved. If addresses are translated, give addresses of a network that all nodes share.

## Source
getsockname(2) on the node, accept(2) on the head.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.probe.judge import Context
from allranks.probe.results import OK


def check(context: Context) -> Iterator[Finding]:
    for node, dial in context.rendezvous.items():
        ear = context.results.ears.get(node)
        if ear is None or dial.outcome != OK or not dial.own:
            continue
        if dial.saw and dial.saw != dial.own:
            yield context.warn(
                node,
                saw=f"it calls {context.head} from {dial.own}, and {context.head} sees {dial.saw}: "
                "addresses are translated between",
                expected="the same address on both sides",
                why=f"its ranks tell the others {ear.address or dial.own}, which may lead nowhere.",
                fix="nodes: addresses of a network that all nodes share",
            )
        elif dial.own == ear.address:
            yield context.fine(
                node,
                saw=f"{ear.interface} ({dial.own}) carries its traffic to {context.head}, which sees that address",
            )
