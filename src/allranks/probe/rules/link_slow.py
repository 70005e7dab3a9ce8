"""A link, or all links of one node, are much slower than the others.

## How it is found
The bandwidth of every measured direction, over several streams at once, is compared with the median of all, or with the
second fastest if there are three nodes. A link that looks slow is measured again with nothing else on the network, and
the better figure counts.

## Why it matters
A collective is as fast as its slowest link. One port that negotiated 1 Gb/s among ports of 10 Gb/s
makes every step that waits for the network ten times as long.

## What to do
`ethtool IFACE` (speed, errors), the cable, the switch port; for a single pair the path between its switches.

## Source
`allranks.probe.blame`: below half of that rate; several streams, as `iperf3 -P`, since one may not fill a link.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.probe.blame import SLOW_SHARE
from allranks.probe.judge import Context, rate


def check(context: Context) -> Iterator[Finding]:
    if not context.several_hosts:
        return  # the speed of one machine's loopback only depends on its CPUs
    blamed, usual = context.slow
    for node in sorted(blamed.nodes):
        inbound, outbound = node in blamed.inbound, node in blamed.outbound
        own = [
            r for p, r in context.rates.items() if (p[1] == node and inbound) or (p[0] == node and outbound)
        ]
        best = max(own, default=0.0)
        side = "in and out" if inbound and outbound else "in" if inbound else "out"
        ear = context.results.ears.get(node)
        yield context.warn(
            node,
            saw=f"its links carry at most {rate(best)} {side}, the others' usually {rate(usual)}",
            expected=f"at least {SLOW_SHARE:g} of the usual rate",
            why=f"each step that waits for the network takes {usual / best if best else 0:.0f} times as long.",
            fix=f"on {node}: ethtool {ear.interface if ear else 'IFACE'}; its cable and switch port; or leave it out",
        )
    for source, target in blamed.links:
        found = context.rates[(source, target)]
        yield context.warn(
            source,
            saw=f"to {target} it carries {rate(found)}, other links usually {rate(usual)}",
            expected=f"at least {SLOW_SHARE:g} of the usual rate",
            why=f"a collective over this link takes {usual / found if found else 0:.0f} times as long.",
            fix=f"the path between {source} and {target}: ethtool on both, the switches between them",
        )
