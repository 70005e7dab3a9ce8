"""The rendezvous works, but the ports for the data are closed.

## How it is found
All nodes connect to each other at free ports of the ranks' interface, as gloo and NCCL do. The nodes in the finding can
reach the rendezvous port.

## Why it matters
All ranks join, and the first collective fails or hangs: gloo reports "connectFullMesh failed", NCCL waits for its
timeout (10 minutes). A packet filter that only opens the rendezvous port looks fine until then.

## What to do
Let the nodes reach each other on all TCP ports: a security group that allows itself, or `iptables -I INPUT -s
NETWORK -j ACCEPT`. The ports are free ones of net.ipv4.ip_local_port_range (32768-60999 by default).

## Source
gloo and NCCL bind port 0; ip(7), ip_local_port_range.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.probe.judge import Context, outcomes
from allranks.probe.results import OK

FIX = "let the nodes reach each other on all TCP ports: iptables -I INPUT -s NETWORK -j ACCEPT, or the security group"


def check(context: Context) -> Iterator[Finding]:
    failed = [dial for dial in context.data.values() if dial.outcome != OK]
    if context.blamed.everywhere and context.joins:
        yield context.block(
            saw=f"no data port of any node is open to the others ({outcomes(failed)}); the rendezvous port is",
            expected="all TCP ports open between the nodes",
            why="all ranks join, and the first collective hangs or fails.",
            fix=FIX,
        )
        return
    for node in sorted(closed(context)):
        into = [dial for pair, dial in context.data.items() if pair[1] == node and dial.outcome != OK]
        yield context.block(
            node,
            saw=f"its data ports are closed to {len(into)} other nodes ({outcomes(into)}), while the rendezvous works",
            expected="all TCP ports open between the nodes",
            why="all ranks join, and the first collective hangs or fails.",
            fix=f"on {node}: {FIX}",
        )


def closed(context: Context) -> frozenset[str]:
    """Nodes that join and cannot be reached."""
    return context.blamed.inbound & context.joins
