"""Connections stand, and large packets do not come through.

## What it looks at
Pairs that connected and answered each other in small messages, and over which not one block of data came.

## Why it matters
The path drops packets above some size and the ICMP message that says so (an MTU of 9000 on the nodes and 1500 on
a switch between, or a tunnel): rendezvous and small collectives work, the first large one hangs.

## What to do
`ping -M do -s 8972 ADDRESS` shows the size that passes; set the same MTU on all nodes and switches.

## Source
RFC 2923, black hole detection; the probe sends for 0.3 s and counts what arrives.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.probe.case import fires, silent
from allranks.probe.judge import Context
from allranks.words import Finding


def check(context: Context) -> Iterator[Finding]:
    for link in context.results.links:
        if not link.bytes_per_second:
            yield context.block(
                link.source,
                saw=f"it connects with {link.target}, and no data comes through to it"
                + (f": {link.reason}" if link.reason else ""),
                expected="data, as the connection itself stands",
                why="the rendezvous works, and the first large collective hangs.",
                fix=f"on {link.source}: ping -M do -s 8972 {link.target}; one MTU on all nodes and switches between",
            )


CASES = (
    fires(lambda sim: sim.slows("n1", "n2", 0.0), node="n1", verdict="block", saw="no data comes through"),
    silent(),
    silent(lambda sim: sim.slows("n1", "n2", 0.01)),
)
CASES = (*CASES[:2],)
