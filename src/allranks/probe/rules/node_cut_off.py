"""One node's connections fail, and the others' do not.

## How it is found
The probe connects all nodes with one another. A node is at fault if most of its connections to healthy nodes fail.
Failures with this node do not count against the others.

## Why it matters
One such node stops the whole run: every collective waits for it.

## What to do
Look at that node's cable, packet filter and routes; or leave the node out.

## Source
`allranks.probe.blame`: the fewest nodes that explain all failed pairs.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.probe.judge import Context, outcomes
from allranks.probe.results import OK
from allranks.probe.rules.data_ports_closed import closed


def check(context: Context) -> Iterator[Finding]:
    blamed = context.blamed
    if blamed.everywhere and not context.joins:
        failed = [dial for dial in context.data.values() if dial.outcome != OK]
        yield context.block(
            saw=f"no node reaches another: {outcomes(failed)}",
            expected="connections between all nodes",
            why="no collective is possible.",
            fix="look at the network or the security group that all nodes share",
        )
        return
    for node in sorted(blamed.nodes - closed(context)):
        inbound, outbound = node in blamed.inbound, node in blamed.outbound
        pairs = [p for p in context.data if (p[1] == node and inbound) or (p[0] == node and outbound)]
        failed = [context.data[p] for p in pairs if context.data[p].outcome != OK]
        side = "to and from it" if inbound and outbound else "to it" if inbound else "from it"
        yield context.block(
            node,
            saw=f"{len(failed)} of {len(pairs)} connections {side} fail ({outcomes(failed)}); "
            "those between the other nodes work",
            expected="connections to and from every other node",
            why="every collective waits for this node.",
            fix=f"on {node}: ip -s link; ip route; iptables -L -n -v; or leave it out of nodes",
        )
