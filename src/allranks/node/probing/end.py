"""How `probe listen` and `probe ranks` are asked to end: by a process on the same node that has the probe's key.

They also end when their output is closed, but not every launcher passes that on: the program that reads the output of
a `docker exec` continues to read after its own reader has ended. A datagram to an abstract Unix socket always
arrives, and leaves no file behind.
"""

from __future__ import annotations

import hmac
import socket
from typing import Any, Callable, Dict, Mapping, Optional

from allranks.node.wire import mac

WORKING = ("listen", "ranks")


class Ending:
    """`with Ending(key, node, what, gone) as over`: `over()` is true once one of both has said so."""

    def __init__(self, wanted: Mapping[str, Any], what: str, gone: Callable[[], bool]):
        self.key, self.gone = bytes.fromhex(str(wanted["key"])), gone
        self.name = name_of(self.key, str(wanted["node"]), what)
        self.told = False
        self.socket: Optional[socket.socket] = None

    def __enter__(self) -> "Ending":
        ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            ear.bind(self.name)
            ear.setblocking(False)
            self.socket = ear
        except OSError:
            ear.close()  # no abstract names here: the closed output and the limit remain
        return self

    def __exit__(self, *_: object) -> None:
        if self.socket is not None:
            self.socket.close()

    def __call__(self) -> bool:
        while self.socket is not None and not self.told:
            try:
                said = self.socket.recv(256)
            except OSError:
                break
            self.told = hmac.compare_digest(said, word_of(self.key))
        return self.told or self.gone()


def end(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """The verb `probe end`: tells this node's listener and ranks of this probe; `told` names those there were."""
    key, node = bytes.fromhex(str(wanted["key"])), str(wanted["node"])
    told = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mouth:
        for what in WORKING:
            try:
                mouth.sendto(word_of(key), name_of(key, node, what))
                told.append(what)
            except OSError:
                continue  # it has ended already
    return {"node": node, "told": told}


def name_of(key: bytes, node: str, what: str) -> str:
    """In the abstract namespace (a leading zero byte): unix(7)."""
    return "\0allranks-probe-" + mac(key, "name", node, what)[:32]


def word_of(key: bytes) -> bytes:
    return mac(key, "end").encode()
