"""Something else answers on the rendezvous port.

## How it is found
`Ping failed, invalid value returned from server. Expected: *, Got: *`; The number 1,347,703,880 is the ASCII text
HTTP.

Easily confused with rendezvous-port-in-use, which the head itself reports.

## Why it matters
A proxy, a web server or another program holds the port: no rank can join.

## What to do
Take another port, see who holds this one (`ss -ltnp`), and set no_proxy for the nodes' names.

## Source
Both texts are in `libtorch_cpu.so` of PyTorch 2.13.

Topic: start
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.master_unreachable_firewall import CAUSE as MASTER_UNREACHABLE_FIREWALL

CAUSE = Cause(__name__, explains=(MASTER_UNREACHABLE_FIREWALL,))
PATTERNS = (
    Pattern("invalid value returned from server"),
    Pattern("Ping failed"),
)
