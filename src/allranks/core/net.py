"""Host names and addresses. Standard library alone, Python 3.8 and up."""

from __future__ import annotations

from typing import Optional


def is_loopback(host: Optional[str]) -> bool:
    """Whether a host can only mean the machine itself: `localhost`, 127.0.0.0/8, `::1`, however they are written.

    `127.example.org` is a name, and so is `localhost.localdomain`, which DNS may know.
    """
    if not host or host.rstrip(".").lower() == "localhost":
        return bool(host)
    if not host[0].isdigit() and ":" not in host:
        return False  # a name; not every reader of a run file needs ipaddress
    import ipaddress

    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
