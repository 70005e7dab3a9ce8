"""Whether other machines answer on the job's own network: asked only if a connection of the job has no answer.

A datagram goes to an unused port, as traceroute's do; the other kernel answers that it is unused. No process there
sees it. A firewall may drop it, so silence alone proves nothing: it is compared with what others hear.
"""

from __future__ import annotations

import errno
import select
import socket
import time
from typing import Any, Dict, List, Mapping

from allranks.core.untrusted import listing, number

FIRST_PORT = 33434
TRIES = 3
EVERY_SECONDS = 0.3
SECONDS = 1.2
MOST = 64
UNREACHABLE = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN)


def reach(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """`{"from": our address, "to": addresses}` → `{"answered": {address: whether}}`."""
    seconds = min(number(wanted.get("seconds")) or SECONDS, 5.0)
    asked: Dict[str, socket.socket] = {}
    answered: Dict[str, bool] = {}
    for address in [one for one in listing(wanted.get("to")) if isinstance(one, str)][:MOST]:
        try:
            asked[address] = _opened(str(wanted.get("from") or ""), address)
        except (OSError, ValueError):
            answered[address] = False
    began, sent = time.monotonic(), 0
    while asked and time.monotonic() < began + seconds:
        if sent < TRIES and time.monotonic() >= began + sent * EVERY_SECONDS:
            for address, one in list(asked.items()):
                _send(address, one, asked, answered)
            sent += 1
        _heard(asked, answered)
    for address, one in asked.items():
        answered[address] = False
        one.close()
    return {"answered": answered}


def _opened(own: str, address: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    one = socket.socket(family, socket.SOCK_DGRAM)
    try:
        one.setblocking(False)
        if own:
            one.bind((own, 0))
        one.connect((address, FIRST_PORT))
    except OSError:
        one.close()
        raise
    return one


def _send(
    address: str, one: socket.socket, asked: Dict[str, socket.socket], answered: Dict[str, bool]
) -> None:
    try:
        one.send(b"allranks")
    except ConnectionRefusedError:
        _end(address, True, asked, answered)  # the answer to the one before
    except OSError as error:
        if error.errno in UNREACHABLE:
            _end(address, False, asked, answered)


def _heard(asked: Dict[str, socket.socket], answered: Dict[str, bool]) -> None:
    ready: List[socket.socket] = select.select(list(asked.values()), [], [], 0.05)[0]
    for address, one in list(asked.items()):
        if one not in ready:
            continue
        try:
            one.recv(64)
        except BlockingIOError:
            continue
        except OSError as error:
            if error.errno != errno.ECONNREFUSED:
                continue  # a router that does not know the way; the next one may
        _end(address, True, asked, answered)


def _end(address: str, heard: bool, asked: Dict[str, socket.socket], answered: Dict[str, bool]) -> None:
    answered[address] = heard
    asked.pop(address).close()
