"""The interfaces that the ranks use have different MTUs.

## How it is found
The MTU of the interface that each node's ranks use.

## Why it matters
Between 9000 and 1500 small messages pass and large ones vanish if a switch drops what is too long:
the rendezvous works, and the first large collective hangs. On Ethernet 1500 in place of 9000 also costs
some percent of the bandwidth and much processor time.

## What to do
Give all nodes and the switch ports between them the same MTU: `ip link set dev eth0 mtu 9000`.

## Source
RFC 1191 (path MTU discovery needs ICMP, which firewalls often drop).

Topic: network
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings, minority
from allranks.core.untrusted import mapping, number

NEEDS = ("network.interfaces",)
applies = fabric.several_machines


def check(context: Context) -> Findings:
    names = {view: name for view in context.machines if (name := fabric.interface_of_ranks(context, view))}
    known = {
        view: number(mapping(fabric.interfaces(view).get(name)).get("mtu")) for view, name in names.items()
    }
    for view, mtu, usual in minority({view: mtu for view, mtu in known.items() if mtu}):
        yield context.warn(
            view,
            saw=f"{names[view]} of {view.name} has an MTU of {mtu:.0f}",
            expected=f"{usual:.0f}, as on other nodes",
            why="small messages pass and large ones may vanish: the first large collective hangs.",
            fix=f"as root on {view.name}: ip link set dev {names[view]} mtu {usual:.0f}",
        )
