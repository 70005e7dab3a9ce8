"""A node reads the base model much more slowly than the others.

## How it is found
Only with `environment: {loader: own}`, where each rank reports the bytes that it has read. The rate of a node is less
than a third of the middle rate of the other nodes, in total and per rank. The node must have read for 20 seconds, and
the run must lose more than a minute to it. A node that has more to read, or that began later, has no lower rate. Nodes
are compared only if their bytes come from the same source: storage, the memory of the machine (the page cache), or the
node's own cache.

## Why it matters
All ranks wait until the last one has its part of the model.

## What to do
On the named node, look at the link to the storage (`ethtool`, `ip -s link`), at how it is mounted (`mount`, `nfsstat
-m`: another version of NFS, a small `rsize`, another route), at its disk (`dmesg -T`, `iostat -x`), and at what else
reads there. If all nodes of one switch are slow, look at that switch.

Topic: storage
"""

from __future__ import annotations

from statistics import median
from typing import Iterator, List

from allranks.core import WARN, Finding, Where
from allranks.core.quantities import in_bytes
from allranks.monitor.node_reading import NodeReading, by_node
from allranks.monitor.run_state import RunState

FACTOR = 3.0
"""Nodes that share one server differ by less as long as each gets its share."""

LEAST_SECONDS = 20.0
OTHERS_SECONDS = 5.0
"""Heartbeats come once a second: a rate from a shorter time is too rough."""

LOST_SECONDS = 60.0
"""A node that costs the run less than a minute is not worth a warning."""


def detect(run: RunState, now: float) -> Iterator[Finding]:
    if run.quiet:
        return
    nodes = by_node(run, now)
    for one in nodes:
        if not one.reading or one.seconds < LEAST_SECONDS or one.rate <= 0:
            continue
        others = [
            other
            for other in nodes
            if other is not one and other.source == one.source and other.seconds >= OTHERS_SECONDS
        ]
        if others and (usual := median(other.rate for other in others)) and is_slow(one, others, usual):
            yield finding(one, len(others), usual)


def is_slow(one: NodeReading, others: List[NodeReading], usual: float) -> bool:
    """`usual` is the rate of the other nodes, in bytes per second."""
    each = median(other.rate / other.ranks for other in others)
    lost = one.left / one.rate - one.left / usual
    return min(usual / one.rate, each * one.ranks / one.rate) > FACTOR and lost > LOST_SECONDS


def finding(one: NodeReading, others: int, usual: float) -> Finding:
    who = "the other node" if others == 1 else f"the middle one of {others} other nodes"
    where = " from its cache" if one.source == "cache" else ""
    return Finding(
        id="base-storage-slow",
        verdict=WARN,
        where=Where(node=one.node),
        saw=f"{one.node} reads the base model{where} at {in_bytes(one.rate)}/s, {who} at {in_bytes(usual)}/s.",
        expected=f"at least a third of the other nodes' rate ({in_bytes(usual / FACTOR)}/s)",
        why=f"all ranks wait for it: {one.left / one.rate:.0f} s are left at this rate, for {in_bytes(one.left)}.",
        fix=f"look at the storage of {one.node}: its link, its mount (nfsstat -m), dmesg -T, what else reads there.",
    )
