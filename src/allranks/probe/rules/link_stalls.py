"""Nodes connect, but large packets do not come through.

## How it is found
Two nodes connected and exchanged small messages, but not one block of data came through.

## Why it matters
The path drops packets above some size and also the ICMP message that reports it. A typical reason is an MTU of
9,000 on the nodes and 1,500 on a switch or in a tunnel between them. Rendezvous and small collectives work; the
first large one hangs.

## What to do
`ping -M do -s 8972 ADDRESS` shows the size that passes; set the same MTU on all nodes and switches.

## Source
RFC 2923, black hole detection; the probe sends for 0.3 s and counts what arrives.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.probe.judge import Context

FIX = "one MTU on all nodes and switches between"


def check(context: Context) -> Iterator[Finding]:
    links = context.results.links
    dead = [link for link in links if not link.bytes_per_second]
    if len(dead) > 2 and len(dead) == len(links):
        yield context.block(
            saw="all nodes connect with each other, and no data comes through between any of them",
            expected="data, since the connections themselves work",
            why="the rendezvous works, and the first large collective hangs.",
            fix=f"ping -M do -s 8972 ADDRESS on a node; {FIX}",
        )
        return
    for link in dead:
        yield context.block(
            link.source,
            saw=f"it connects with {link.target}, and no data comes through to it"
            + (f": {link.reason}" if link.reason else ""),
            expected="data, since the connection itself works",
            why="the rendezvous works, and the first large collective hangs.",
            fix=f"on {link.source}: ping -M do -s 8972 {context.addresses.get(link.target)}; {FIX}",
        )
