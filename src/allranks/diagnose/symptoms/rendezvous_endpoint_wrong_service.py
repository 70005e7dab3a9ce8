"""Something else answers on the rendezvous port

## What is seen
`Ping failed, invalid value returned from server. Expected: *, Got: *`; 1347703880 is the ASCII text HTTP.

## Why it matters
A proxy, a web server or another program holds the port: no rank can join.

## What to do
Take another port, see who holds this one (`ss -ltnp`), and set no_proxy for the nodes' names.

## Confused with
rendezvous-port-in-use, which the head itself reports.
"""

from __future__ import annotations

from allranks.diagnose.symptom import Pattern

ROLE = "P"
EXPLAINS = ("rendezvous-timeout", "master-unreachable-firewall")
PATTERNS = (
    Pattern("invalid value returned from server"),
    Pattern("Ping failed"),
)
