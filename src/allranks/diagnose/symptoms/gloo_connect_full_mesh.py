"""Gloo could not connect every rank with every other.

## How it is found
`Gloo connectFullMesh failed with *`. The end of the message tells more: 127.* is gloo-address-127, 172.17.*
wrong-network-interface, no route or a time-out data-ports-blocked; `Connection reset by peer` means that the peer
died; `no error` (older torch) carries no information.

Easily confused with a crash of the peer, which then comes first in its log.

## Why it matters
The first collective cannot run: at least two ranks cannot reach each other.

## What to do
Read the tail of the message and the log of the machine in `remote=[...]`; set GLOO_SOCKET_IFNAME to the
interface that routes to the head.

## Source
`connectFullMesh failed` is in `libtorch_cpu.so` of PyTorch 2.13, which contains Gloo.

Topic: network
"""

from __future__ import annotations

from allranks.core.causes import BLAME, PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import ENDED, Pattern

CAUSE = Cause(__name__, kind=BLAME, hearsay=True, restart=PASSES, of_one_end=True)
COMPLAINT = Complaint(subject=r"(?i)\bconnect_?full_?mesh|\bfull mesh\b|\bgloo ?\u8fde\u63a5")
PATTERNS = (Pattern("connectFullMesh failed", weight=ENDED),)
