"""The communication uses the wrong network interface.

## How it is found
NCCL: `no socket interface found` (the filter matches nothing) or `Bootstrap : Using docker0`; Gloo: `Unable
to find address for: *` or `Connection refused, remote=[172.17.0.1]` on both nodes, which is the bridge that
Docker gives every machine.

Easily confused with data-ports-blocked, where the remote address is the right one.

## Why it matters
The ranks look for each other on an interface that does not exist or does not lead to the other nodes.

## What to do
Set NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME to the interface that routes to the head, on each host its own.
`^lo,docker0` is NCCL's syntax; Gloo takes one plain name.

## Source
NCCL 2.30.7 prints `no socket interface found` in `src/bootstrap.cc`, `NET/Socket : no interface found` in
`src/transport/net_socket.cc` and `is neither AF_INET` in `src/misc/socket.cc`. Gloo raises `Unable to find
address for` in `gloo/transport/tcp/device.cc`.

Topic: network
"""

from __future__ import annotations

from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import WEAK, Case, Pattern
from allranks.diagnose.symptoms.data_ports_blocked import CAUSE as DATA_PORTS_BLOCKED

CAUSE = Cause(__name__, explains=(DATA_PORTS_BLOCKED,))
_BRIDGE = r"172\.17\.0\.\d{1,3}|192\.168\.122\.\d{1,3}"
COMPLAINT = Complaint(
    subject=(
        r"(?i)\bno (?:socket |network |ip )?interface\b|\baddress family not supported|\bSOCKET_IFNAME\b.{0,80}"
        r"\b(?:wrong"
        r"|not|invalid|fail)|\binterface\b.{0,40}\b(?:not found|does not exist|not exist)"
        r"|\b(?:find|unknown) (?:network )?interface"
    ),
    hints=r"(?i)\b(?:network )?interfaces?\b|\b\w{4}_SOCKET_IFNAME|\bdocker0\b|\bvirbr0\b|\bnic\b",
)
PATTERNS = (
    Pattern("socket interface found", r"(?i)no socket interface found"),
    Pattern("interface found", r"(?i)NET/Socket\s{0,9}:\s{0,9}no interface found"),
    Pattern("find address for", r"Unable to find address for: \S{1,120}"),
    Pattern("unsupported gloo device"),
    Pattern("is neither AF_INET", weight=90),
    Pattern("remote=", r"(?:refused|timed out|timeout|No route).{0,60}remote=\[(?:" + _BRIDGE + r")\]"),
    Pattern("Connect to", r"[Cc]onnect to (?:" + _BRIDGE + r")\S{0,120} failed"),
    Pattern("connect to", r"connect to (?:" + _BRIDGE + r")\S{0,120} failed"),
    Pattern("connect() to", r"connect\(\) to (?:" + _BRIDGE + r")\S{0,120} failed"),
    Pattern("Connect to", r"[Cc]onnect to fe80:[\da-f:]{1,40}\S{0,40} failed", weight=90),
    Pattern("connect to", r"connect to fe80:[\da-f:]{1,40}\S{0,40} failed", weight=90),
    Pattern(
        "Using",
        r"Bootstrap : Using (?:\[0\])?(?:docker\d{0,5}|virbr\d{0,5}|br-[0-9a-f]{1,16}|lo):",
        weight=WEAK,
    ),
    Pattern(
        "Using",
        r"NET/Socket : Using \[0\](?:docker\d{0,5}|virbr\d{0,5}|br-[0-9a-f]{1,16}|lo):",
        weight=WEAK,
    ),
)


def judge(seen: Evidence) -> Optional[Case]:
    """Loopback is right on a single machine; a bridge counts only if the run failed."""
    case = seen.case("wrong-network-interface")
    if case is None or case.weight > WEAK:
        return case
    failed = seen.blamers() or seen.raised() or any(e.code for e in seen.exits)
    return case if failed and len(seen.nodes) > 1 else None
