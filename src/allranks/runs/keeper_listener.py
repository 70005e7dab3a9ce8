"""Where the keeper listens for its supervisors."""

from __future__ import annotations

import errno
import socket
from typing import Any, Dict, List

from allranks.node.link import Listener


def listener_on(key: bytes, place: Dict[str, Any], nodes: List[str]) -> Listener:
    """On the head's own address where this machine has it; behind address translation on all of them."""
    port = int(place.get("port") or 0)
    try:
        return Listener(key, str(place["host"]), port, nodes)
    except OSError as error:
        if error.errno not in (errno.EADDRNOTAVAIL, None) and not isinstance(error, socket.gaierror):
            raise
        return Listener(key, "", port, nodes)
