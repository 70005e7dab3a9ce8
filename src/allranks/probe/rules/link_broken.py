"""Two nodes do not reach each other, although both reach the rest.

## How it is found
The probe connects all nodes with one another. This connection fails, and no fault of one of its two nodes explains it.

## Why it matters
A ring or a tree over all nodes uses some of each node's links. If it uses this one, the first collective fails.

## What to do
Look for a rule of a packet filter for one address, a route, or a stale ARP entry on one of the two nodes.

## Source
`allranks.probe.blame`.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.probe.judge import Context


def check(context: Context) -> Iterator[Finding]:
    for source, target in context.blamed.links:
        dial = context.data[(source, target)]
        yield context.block(
            source,
            saw=f"it does not reach {target} at {dial.address}:{dial.port}: {dial.outcome} ({dial.text})",
            expected="a connection, as between the other nodes",
            why="a collective that takes this link fails or hangs.",
            fix=f"on {source}: ip route get {dial.address}; on {target}: iptables -L -n -v",
        )
