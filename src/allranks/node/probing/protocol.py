"""How two nodes of a probe talk: one message each way, both proved with the probe's key, then plain bytes.

A message is four bytes of length (big endian) and a JSON object whose `mac` is HMAC-SHA256 over the key, the
asker's nonce and the rest. So an answer proves which node gave it: a name that leads to another machine, or
to the asker itself, is seen. A stranger who copies a question can make a listener count or send bytes for a
second, as long as the probe lasts, and nothing else.
"""

from __future__ import annotations

import hmac
import json
import os
import socket
import struct
import time
from typing import Any, Dict, Mapping

from allranks.node.wire import mac

MESSAGE_BYTES = 4096
LENGTH = struct.Struct(">I")


class Stranger(Exception):
    """Who answered or asked is not a node of this probe; the text says how that was seen."""


class Silent(Exception):
    """The connection stands, and nothing comes over it within the time."""


def send(sock: socket.socket, key: bytes, nonce: str, said: Mapping[str, Any]) -> None:
    """One message. Raises OSError."""
    text = json.dumps(said, separators=(",", ":"), sort_keys=True)
    whole = json.dumps({"said": text, "nonce": nonce, "mac": mac(key, "probe", nonce, text)}).encode()
    sock.sendall(LENGTH.pack(len(whole)) + whole)


def receive(
    sock: socket.socket, key: bytes, deadline: float, nonce: str = ""
) -> "tuple[Dict[str, Any], str]":
    """The next message and its nonce, which must be `nonce` where one is given.

    Raises Stranger, Silent (nothing came until `deadline`, monotonic seconds) and OSError.
    """
    (size,) = LENGTH.unpack(exactly(sock, LENGTH.size, deadline))
    if size > MESSAGE_BYTES:
        raise Stranger("another program answers there")
    try:
        message = json.loads(exactly(sock, size, deadline).decode("utf-8"))
        text, claimed, said_nonce = str(message["said"]), str(message["mac"]), str(message["nonce"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Stranger("another program answers there") from None
    if not hmac.compare_digest(mac(key, "probe", said_nonce, text).encode(), claimed.encode()):
        raise Stranger("it does not have the key of this probe")
    if nonce and said_nonce != nonce:
        raise Stranger("it repeats the answer to another question")
    said = json.loads(text)
    if not isinstance(said, dict):
        raise Stranger("another program answers there")
    return said, said_nonce


def exactly(sock: socket.socket, size: int, deadline: float) -> bytes:
    """`size` bytes. Raises Silent, Stranger if the peer closes before, OSError."""
    found = b""
    while len(found) < size:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Silent("nothing came")
        sock.settimeout(left)
        try:
            block = sock.recv(size - len(found))
        except socket.timeout:
            raise Silent("nothing came") from None
        if not block:
            raise Stranger("it closed the connection")
        found += block
    return found


def request(sock: socket.socket, key: bytes, wanted: Mapping[str, Any], deadline: float) -> Dict[str, Any]:
    """Sends a question and returns the answer. Raises Stranger, Silent, OSError."""
    nonce = os.urandom(16).hex()
    sock.settimeout(max(0.05, deadline - time.monotonic()))
    try:
        send(sock, key, nonce, {**wanted, "way": "question"})
    except socket.timeout:
        raise Silent("it takes no data") from None
    said, _ = receive(sock, key, deadline, nonce)
    if said.get("way") != "answer":
        raise Stranger("it repeats the question")
    return said
