"""RDMA between two nodes, or of one node, is much slower than between the others.

## How it is found
`ib_write_bw` measures pairs of nodes, if every node has an RDMA device and the program. Each pair is compared with the
median of all, or with the fastest pair if there are three nodes.

## Why it matters
NCCL's collectives over InfiniBand or RoCE are as fast as the slowest link. A cable that fell back to fewer lanes, or
a device behind the wrong PCIe bridge, makes every rank wait.

## What to do
`ibstat` and `iblinkinfo` for width and speed of the ports, `perfquery` for errors; `lspci -vv` for the device's own
PCIe link.

## Source
`allranks.probe.blame`: below half of that rate, as with `link-slow`; perftest's `ib_write_bw`.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.probe import blame
from allranks.probe.blame import SLOW_SHARE
from allranks.probe.judge import Context, rate


def check(context: Context) -> Iterator[Finding]:
    rates = {}
    for link in context.results.rdma:
        if link.bytes_per_second:
            # Measured in one direction: InfiniBand is the same in both.
            rates[link.source, link.target] = rates[link.target, link.source] = link.bytes_per_second
    if not rates:
        return
    blamed, usual = blame.slow(rates)
    for node in sorted(blamed.nodes):
        best = max(found for pair, found in rates.items() if node in pair)
        yield said(context, node, f"its RDMA carries at most {rate(best)}, the others' usually {rate(usual)}")
    for source, target in blamed.links:
        if source < target:
            found = rates[source, target]
            yield said(
                context, source, f"RDMA to {target} carries {rate(found)}, other pairs usually {rate(usual)}"
            )


def said(context: Context, node: str, saw: str) -> Finding:
    return context.warn(
        node,
        saw=saw,
        expected=f"at least {SLOW_SHARE:g} of the usual rate",
        why="every collective between nodes waits for its slowest link.",
        fix=f"on {node}: ibstat, iblinkinfo and perfquery; its cable and its device's PCIe link; or leave it out",
    )
