"""Gloo tells the others a loopback address.

## How it is found
`connectFullMesh failed ... Connection refused, remote=[127.0.1.1]` or `[127.0.0.1]` in a run of several
nodes.

Easily confused with wrong-network-interface, where the address is a bridge's.

## Why it matters
The node's own name resolves to loopback (Debian writes 127.0.1.1 into /etc/hosts), so it tells the others
an address that leads them back to themselves.

## What to do
Give the node's name its real address in /etc/hosts, or set GLOO_SOCKET_IFNAME to the interface that routes
to the head.

## Source
`connectFullMesh failed` is in `libtorch_cpu.so` of PyTorch 2.13, which contains Gloo. Gloo prints `failed
to connect, willRetry=` in `gloo/transport/tcp/debug_logger.cc`.

Topic: network
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.data_ports_blocked import CAUSE as DATA_PORTS_BLOCKED

CAUSE = Cause(__name__, explains=(DATA_PORTS_BLOCKED,))
PATTERNS = (
    Pattern("connect [", r"connect \[127\.0\.1\.1\]:\d{1,5}: ", weight=91),
    Pattern("connectFullMesh failed", r"remote=\[127\.\d{1,12}\.\d{1,12}\.\d{1,12}\]"),
    Pattern(
        "failed to connect",
        r"willRetry.{0,200}remote=\[127\.\d{1,12}\.\d{1,12}\.\d{1,12}\]",
        weight=90,
    ),
)
