"""The rendezvous port of a run with `network.port: auto`: bound on the head, and held for as long as the run lives.

A socket that is bound and does not listen keeps the port: no other program gets it, neither by `bind` nor for an
outgoing connection. torch's store can still listen on it, since both sockets allow the address's reuse (Linux: a
socket that listens is the only one that forbids it). The option also gets a port whose last connections are still in
TIME_WAIT, as a probe leaves them for a minute; a firewall may let in the first port alone. In this way two runs could
hold one port. So each also takes a name from the kernel (an abstract socket, which ends with its process), and only
one of them gets it.
"""

from __future__ import annotations

import socket
from typing import Any, Dict, Mapping, Optional, Tuple

FIRST, LAST = 39500, 39999
"""The first is what `network.port` has in rendered scripts, so that a firewall that lets it in needs no change for one
run a machine."""


def reserve(first: int = FIRST, last: int = LAST) -> Tuple[Optional[socket.socket], int]:
    """(the socket that holds it, the port); (None, 0) if all of them are in use."""
    families = (socket.AF_INET6, socket.AF_INET) if socket.has_dualstack_ipv6() else (socket.AF_INET,)
    for port in range(first, last + 1):
        held = _held(families[0], port)
        if held is not None:
            return held, port
    return None, 0


class Held(socket.socket):
    """The bound socket, and the name that says that the port is held."""

    name: Optional[socket.socket] = None

    def close(self) -> None:
        super().close()
        if self.name is not None:
            self.name.close()


def _held(family: int, port: int) -> Optional[socket.socket]:
    name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    held = Held(family, socket.SOCK_STREAM)
    held.name = name
    try:
        name.bind("\0allranks-rendezvous-%d" % port)
        if family == socket.AF_INET6:
            held.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("", port))
        return held
    except OSError:
        held.close()
        return None


def with_port(job: Mapping[str, Any], port: int) -> Dict[str, Any]:
    """The job with this rendezvous port in torchrun's words."""
    argv = [f"--master-port={port}" if word == "--master-port=0" else word for word in job["argv"]]
    return {**job, "argv": argv, "rendezvous_port": port}
