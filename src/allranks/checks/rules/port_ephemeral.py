"""The rendezvous port may be taken by an outgoing connection before the run listens on it.

## How it is found
Whether `network.port` is in the head's range for outgoing connections (`ip_local_port_range`, 32,768 to 60,999 by
default) and is not reserved, and how many ports of that range are in use there.

## Why it matters
The kernel gives the port to any connection that the head opens, and torch's store can then not listen: a run that
was fine yesterday ends with "Address already in use" today. On a quiet machine this happens once in thousands of
starts; the note appears only if at least one port in a hundred is in use.

## What to do
A port below the range (`network: {port: 29500}`), or as root on the head
`sysctl -w net.ipv4.ip_local_reserved_ports=PORT`, which keeps the kernel from giving it away.

## Source
Linux `Documentation/networking/ip-sysctl.rst`: ip_local_port_range, ip_local_reserved_ports.

Topic: network
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.core.untrusted import number

NEEDS = ("network.local_port_range",)
UNKNOWN_BLOCKS = False

BUSY = 0.01
"""The share of ports in use from which the chance of losing this one is worth a note."""


def check(context: Context) -> Findings:
    head, port = context.head, context.run.network.port
    limits = [n for n in map(number, head.list("network.local_port_range")) if n is not None]
    used = head.number("network.local_ports_in_use")
    if not port:
        return  # `auto`: the head holds it from the run's start
    if len(limits) != 2 or used is None or not limits[0] <= port <= limits[1]:
        return
    size = limits[1] - limits[0] + 1
    if used / size < BUSY or reserved(head.text("network.reserved_ports") or "", port):
        return
    yield context.note(
        head,
        key="network.port",
        saw=f"port {port} is in {head.name}'s range for outgoing connections, {limits[0]:,.0f} to {limits[1]:,.0f}, of "
        f"which {used:,.0f} ports are in use",
        expected=f"a port outside of that range, or fewer than {BUSY:.0%} of it in use",
        why=f"each new connection of the head takes this port with a chance of 1 in {size - used:,.0f}; the "
        "rendezvous could then not listen.",
        fix=f"network: {{port: 29500}}, or as root on {head.name}: "
        f"sysctl -w net.ipv4.ip_local_reserved_ports={port}",
    )


def reserved(ranges: str, port: int) -> bool:
    """Whether `8080,9148-9150` holds the port."""
    for part in ranges.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit() and (last or first).isdigit() and int(first) <= port <= int(last or first):
            return True
    return False
