"""The head's rendezvous port cannot be reached.

## How it is found
`The client socket has failed to connect to any network address of (host, port)` with `errno: 113 - No route
to host` at once (a firewall that rejects) or `errno: 110` (one that drops); or workers whose connection
times out while the head waits for clients.

Easily confused with a head that is not up or has crashed: `errno: 111 - Connection refused` means that nothing
listens there. `failed to connect to [localhost]` followed by training is harmless.

## Why it matters
No rank of that node can join: a firewall, a security group or a missing route separates it from the head.

## What to do
Open the rendezvous port of the head to all nodes (`nc -vz HEAD PORT` from each), or choose an open port.
Two hosts with the same name show the same message.

## Source
PyTorch raises `The client socket has failed to connect to any network address of` in
`torch/csrc/distributed/c10d/socket.cpp`. `No route to host` is glibc's text for EHOSTUNREACH,
`sysdeps/gnu/errlist.h`.

Topic: start
"""

from __future__ import annotations

import re
from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import STRONG, WEAK, Case, Pattern
from allranks.diagnose.symptoms.hostname_resolution import CAUSE as HOSTNAME_RESOLUTION
from allranks.diagnose.symptoms.rendezvous_timeout import CAUSE as RENDEZVOUS_TIMEOUT

CAUSE = Cause(__name__, of_ranks=True)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\b(?:connect(?:ion)?\w{0,3}).{0,80}(?:refused|timed? ?-?out|unreachable|no route)"
        r"|\bconnect(?:ion)? fail(?:ed|ure|s)?\b"
        r"|\b(?:fail\w{0,3}|unable|cannot|could not"
        r"|can't) (?:to )?connect\b(?! to (?:the )?proxy)(?!.{0,40}https?:)(?!.{0,60}no such file)"
        r"|\bno route to host|\b(?:head"
        r"|master) (?:node|address|addr|port)|\bfirewall|\biptables|\bmaster_(?:addr|port)"
        r"|\bnetwork is unreachable|\u65e0\u6cd5\u8fde\u63a5|\u8fde\u63a5\u5931\u8d25"
        r"|\u8fde\u63a5\u8d85\u65f6|\u4e3b\u8282\u70b9"
    ),
    general=True,
)
PATTERNS = (
    Pattern("failed to connect to any network address", r"No route to host|Network is unreachable|timed out"),
    # torch tries IPv6 first. If the head has an IPv4 address too, a missing IPv6 route does no harm.
    Pattern("socket has failed to connect", r"errno: (?:113|101|110)\b", weight=90, without=("::",)),
    Pattern(
        "socket has failed to connect", r"::ffff:\d.{0,60}errno: (?:113|101|110)\b", weight=90
    ),  # an IPv4 address as IPv6 writes it
    Pattern("failed to connect to any network address", weight=WEAK, without=("refused",)),
    Pattern(
        "No route to host", r"c10d|TCPStore|rendezvous|MASTER_ADDR", weight=90, without=("remote=[", "::")
    ),
)
_HEAD = re.compile(r"any network address of \(([A-Za-z\d][\w.-]{0,80}), \d{1,5}\)")


def judge(seen: Evidence) -> Optional[Case]:
    """Also: a worker's connection timed out on one node while the head, up on another, waited for clients."""
    case = seen.case("master-unreachable-firewall")
    unresolved = bool(seen.hits.get(HOSTNAME_RESOLUTION.id))
    if case is not None and unresolved:
        case = case._replace(weight=case.weight - 1)  # a name that is not resolved is the reason
    if case is not None and case.weight > WEAK:
        heads = [m.group(1) for h in case.hits for m in [_HEAD.search(h.line.text)] if m]
        return case._replace(node=heads[0]) if heads else case
    hits = seen.hits.get(RENDEZVOUS_TIMEOUT.id, ())
    waiting = {h.line.node for h in hits if "clients joined" in h.line.text or "waitForInput" in h.line.text}
    dialling = [h for h in hits if "client socket has timed out" in h.line.text or "connect()" in h.line.text]
    outside = [h for h in dialling if h.line.node not in waiting]
    if waiting - {None} and outside and not unresolved:
        why = "The head was up and waited, the other node's connection to it timed out."
        head = next(iter(waiting - {None})) if len(waiting - {None}) == 1 else None
        return Case("master-unreachable-firewall", STRONG, tuple(outside), "likely", node=head, why=why)
    return case
