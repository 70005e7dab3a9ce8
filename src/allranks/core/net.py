"""Host names and addresses. Standard library alone, Python 3.8 and up."""

from __future__ import annotations

from typing import Optional, Tuple


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


def over_there(text: Optional[str]) -> Optional[Tuple[str, str]]:
    """(host, path) of `node:/path` and `user@node:~/path`, as scp takes them; None for anything else.

    Without an absolute path or `~` after the colon, the text is the name of a file. An IPv6 address needs brackets.
    """
    import re

    host = r"(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*@)?(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*|\[[0-9a-fA-F:.%]+\])"
    found = re.fullmatch("(%s):([/~].*)" % host, text or "")
    return (found[1].replace("[", "").replace("]", ""), found[2]) if found else None
