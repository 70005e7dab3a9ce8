"""The ranks may meet, but not talk: data ports are blocked.

## How it is found
All ranks pass the rendezvous, then `connectFullMesh failed ... Connect timeout` or `SO_ERROR: No route to
host, remote=[ip]` (Gloo), or NCCL's `Connect to * failed : No route to host | Connection timed out` after
`Init START`.

Easily confused with wrong-network-interface, where the remote address is a bridge's or loopback's;
peer-node-network-broken, where training had already begun.

## Why it matters
Collectives use ephemeral ports in both directions; a firewall that opens the rendezvous port alone stops
them.

## What to do
Open the ephemeral ports (`cat /proc/sys/net/ipv4/ip_local_port_range`) between all nodes; the machine to
look at first is the one of `remote=[...]`.

## Source
NCCL prints `Connect to … failed` in `src/misc/socket.cc` (2.26.2) and `connect to … failed` in
`src/os/linux.cc` (2.30.7). Gloo prints `Connect timeout` in `gloo/transport/tcp/pair.h` and `failed to
connect, willRetry=` in `gloo/transport/tcp/debug_logger.cc`. `connectFullMesh failed` is in
`libtorch_cpu.so` of PyTorch 2.13.

Topic: network
"""

from __future__ import annotations

import re
from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import ENDED, WEAK, Case, Pattern

CAUSE = Cause(__name__)
_UNREACHABLE = r"(?:No route to|[Tt]imed out|[Tt]imeout|Network is unreachable|refused by)"
_OWN = ("172.17.0.", "[127.", " 127.", "[none]")
COMPLAINT = Complaint(
    subject=(
        r"(?i)\bgloo\b(?!.{0,300}full ?mesh).{0,80}(?:connect|communicat|timed out|timeout|\u901a\u4fe1)|\bpair\.cc"
        r"|\bport range|\bephemeral ports?"
    ),
)
PATTERNS = (
    Pattern(
        "connectFullMesh failed", r"(?:No route to host|Connect timeout|Network is unreachable)", without=_OWN
    ),
    Pattern(
        "Connect timeout",
        r"pair\.\w{1,2}:\d{1,5}\] Connect timeout \[[\d.:a-f]{3,45}\]",
        weight=90,
        without=_OWN,
    ),
    Pattern(
        "connect [",
        r"pair\.\w{1,2}:\d{1,5}\] connect \[[\d.:a-f]{3,45}\]:\d{1,5}: Connection refused",
        weight=90,
    ),
    Pattern(
        "failed to connect",
        r"willRetry.{0,200}(?:No route to host|Network is unreachable|timed out)",
        without=_OWN,
    ),
    Pattern("Connect to", r"Connect to \S{1,120} failed : " + _UNREACHABLE, weight=90, without=_OWN),
    Pattern("Connection to", r"Connection to \S{1,120} failed : " + _UNREACHABLE, weight=90, without=_OWN),
    Pattern("connect to", r"connect to \S{1,120} failed.{0,40}" + _UNREACHABLE, weight=90, without=_OWN),
    Pattern(
        "Connect to",
        r"ollConnect: Connect to \S{1,120} returned.{0,20}(?:110|113|" + _UNREACHABLE + ")",
        weight=90,
        without=_OWN,
    ),
    Pattern("Call to connect timeout", r"timeout ?: Connection (?:refused|timed out)", weight=ENDED),
    Pattern("Call to connect returned", r"Connection (?:refused|timed out), retrying", weight=ENDED),
    Pattern(
        "failed with error",
        r"ollConnect to \S{1,120} failed with error.{0,40}(?:110|113|" + _UNREACHABLE + ")",
        weight=90,
        without=_OWN,
    ),
)


def judge(seen: Evidence) -> Optional[Case]:
    """The culprit is the machine that could not be reached; not this symptom once steps were trained."""
    case = seen.case("data-ports-blocked")
    if case is None:
        return None
    if seen.steps and case.hits[0].steps > 0:
        return case._replace(weight=min(case.weight, WEAK))
    remote = [
        m.group(1) for h in case.hits for m in [re.search(r"remote=\[([\d.:a-f]{3,45})\]", h.line.text)] if m
    ]
    if not remote:
        return case
    notes = (f"the address that could not be reached: {remote[0]}",)
    return case._replace(notes=notes, node=_owner(seen, remote[0]))


def _owner(seen: Evidence, address: str) -> Optional[str]:
    """The node of an address: the one whose own lines name the address, or the only one whose address is unknown."""
    if address in seen.addresses:
        return seen.addresses[address]
    others = seen.nodes - set(seen.addresses.values())
    return next(iter(others)) if len(others) == 1 else None
