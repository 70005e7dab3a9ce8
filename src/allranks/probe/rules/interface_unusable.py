"""The ranks of a node cannot listen on the address that they are given.

## How it is found
The given interface (`network.interface`, the node's own, GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME), else the one of the
route to the head, must exist, be up, have an address, and accept a listener.

## Why it matters
gloo fails on that node at once, and on all others at the process-group timeout (30 minutes by default); NCCL ends
with "no socket interface found".

## What to do
`network: {interface: auto}`, or the node's own `interface:`.

## Source
A listener of the probe on that address, as gloo's and NCCL's; gloo takes one exact name.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.probe.judge import Context


def check(context: Context) -> Iterator[Finding]:
    for ear in context.results.ears.values():
        if ear.port is None:
            yield context.block(
                ear.node,
                key="network.interface",
                saw=f"no listener on {ear.interface or 'any interface'}: {ear.reason}",
                expected="an interface that is up and has an address",
                why="its ranks fail at the first connection; the others wait for the process-group timeout.",
                fix="network: {interface: auto}" + (f", which takes {ear.way} there" if ear.way else ""),
            )
