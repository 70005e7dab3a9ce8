"""The interface of each node is the one that its traffic takes.

## How it is found
Each node connects to the head. The node's own address, the address that the head sees, and the interface that has it
must agree.

## Why it matters
NCCL_SOCKET_IFNAME (`=name`) and GLOO_SOCKET_IFNAME (one exact name) must name this interface. If the head sees another
address, addresses are translated on the way, and the others may not reach the address that the ranks advertise.

## What to do
Nothing, if the finding is ok. If addresses are translated, give addresses of a network that all nodes share.

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
