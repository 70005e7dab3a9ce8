"""The ranks use a slower network than the nodes have.

## How it is found
The speed of the interface that each node's ranks use against the node's other interfaces that are up and
have an address. If NCCL uses InfiniBand, only the rendezvous goes over it, and it is not judged.

## Why it matters
ZeRO-3 gathers the whole model at each step: at 671 B parameters a ring all-gather takes 103 s over 100 Gb/s
Ethernet, and 1,030 s over 10 Gb/s.

## What to do
`network: {interface: NAME}`, or the addresses of the faster network in `nodes`.

## Source
`/sys/class/net/*/speed`; 2P(N-1)/N bytes per rank and pass (docs/decisions/gather-replay.md).

Topic: network
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings
from allranks.core.untrusted import mapping, number

NEEDS = ("network.interfaces",)
UNKNOWN_BLOCKS = False


def applies(context: Context) -> bool:
    return fabric.several_machines(context) and not (
        fabric.wants_infiniband(context) and all(fabric.active_ports(view) for view in context.machines)
    )


def check(context: Context) -> Findings:
    for view in context.machines:
        name = fabric.interface_of_ranks(context, view) or ""
        speed = number(mapping(fabric.interfaces(view).get(name)).get("speed_mbits"))
        faster = [
            (number(one.get("speed_mbits")) or 0, other)
            for other, one in ((n, mapping(i)) for n, i in fabric.interfaces(view).items())
            if one.get("up") and one.get("addresses") and not one.get("loopback")
        ]
        best, other = max(faster, default=(0, ""))
        if speed and best >= 2 * speed:
            yield context.warn(
                view,
                key="network.interface",
                saw=f"the ranks of {view.name} use {name} ({speed / 1000:g} Gb/s), and it has {other} "
                f"({best / 1000:g} Gb/s)",
                expected="the fastest network that all nodes share",
                why=f"each step that waits for the network takes {best / speed:.0f} times as long.",
                fix=f"network: {{interface: {other}}}, with addresses of that network in nodes",
            )
