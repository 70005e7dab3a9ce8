"""Proved lines over one TCP socket: the framing below `keeper_link` and `supervisor_link`, which reconnect.

One connection: the dialling side says `{"hello": node, "session": s, "nonce": a}`, the listener answers
`{"nonce": b, "proof": H("keeper")}`, the dialling side `{"proof": H("supervisor")}`, where H(label) is
HMAC-SHA256(key, label, node, session, a, b). Every later line is `<hex mac> <json>`, the mac being
HMAC-SHA256(H("lines"), direction, counter, json): a line is good in one place of one connection alone.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
from typing import Any, Dict, Iterator, NamedTuple, Optional, Tuple

LINE_BYTES = 1 << 20
BUFFER_BYTES = 8 << 20
"""The most bytes that may wait for a peer that does not read. A heartbeat is about 300 bytes: 8 MiB are hours of
them."""

HANDSHAKE_BYTES = 4096
HANDSHAKE_SECONDS = 5.0

KEEPALIVE = (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 20_000))
"""A peer that is gone without a word is noticed after 10 + 3 × 5 = 25 s, or 20 s where data waits for it."""

TO_KEEPER, TO_SUPERVISOR = "to-keeper", "to-supervisor"


class LinkError(Exception):
    """The peer broke the protocol, lacks the key or went away; the text says which."""


def mac(key: bytes, *parts: "str | bytes") -> str:
    """HMAC-SHA256 in hex over `parts`, each with its length before it: no two lists of parts look alike.

    JSON may hold half of a surrogate pair ("\\ud800"), which strict UTF-8 refuses: text of a peer must never raise.
    """
    digest = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()


class Proof(NamedTuple):
    """The bytes over which both sides prove the key; the nonces are the dialling side's and the listener's."""

    key: bytes
    node: str
    session: str
    nonces: Tuple[str, str]

    def of(self, label: str) -> str:
        return mac(self.key, label, self.node, self.session, *self.nonces)

    def holds(self, label: str, claimed: Any) -> bool:
        if not isinstance(claimed, str):
            return False
        return hmac.compare_digest(self.of(label).encode(), claimed.encode("utf-8", "surrogatepass"))


def tune(sock: socket.socket) -> None:
    """Non-blocking, without delay, and dead peers noticed."""
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        except OSError:
            pass  # a sandbox (gVisor) that lacks it notices a dead peer later; the lease does not depend on it


def listen_on(host: str, port: int) -> socket.socket:
    """A listening socket on an address of this machine, on all of them for "". Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(128)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def encode(data: Dict[str, Any]) -> bytes:
    """One message as the text of a line; raises LinkError if it is too long for one."""
    text = json.dumps(data, separators=(",", ":")).encode()
    if len(text) > LINE_BYTES - 128:  # the mac and a sequence number are on the line too
        raise LinkError(f"a message of {len(text)} bytes is longer than a line of {LINE_BYTES} may be")
    return text


class Wire:
    """Lines over one non-blocking socket: plain ones during the handshake, proved ones after `prove`."""

    def __init__(self, sock: socket.socket, direction_in: str, direction_out: str):
        self.sock = sock
        self.directions = (direction_in, direction_out)
        self.key: Optional[bytes] = None
        self.counters = [0, 0]
        self.received, self.waiting = bytearray(), bytearray()

    def prove(self, proof: Proof) -> None:
        """From here on every line, in both directions, carries its mac."""
        self.key = bytes.fromhex(proof.of("lines"))

    def queue(self, data: Dict[str, Any]) -> None:
        """Adds one line to what is to be sent. Raises LinkError if the peer has not read for too long."""
        self.queue_text(encode(data))

    def queue_text(self, text: bytes) -> None:
        """`queue` for what `encode` has made."""
        if self.key is not None:
            text = self._line_mac(1, text) + b" " + text
        if len(self.waiting) + len(text) > BUFFER_BYTES:
            raise LinkError(f"it left {len(self.waiting)} bytes unread")
        self.waiting += text + b"\n"

    def flush(self) -> None:
        """Sends what the socket takes now. Raises LinkError if the connection broke."""
        try:
            while self.waiting:
                del self.waiting[: self.sock.send(self.waiting)]
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            raise LinkError(f"the connection broke: {error.strerror or error}") from None

    def fill(self) -> None:
        """Reads the bytes that have come. Raises LinkError if the peer closed or the connection broke."""
        try:
            block = self.sock.recv(1 << 16)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            raise LinkError(f"the connection broke: {error.strerror or error}") from None
        if not block:
            raise LinkError("the peer closed the connection")
        self.received += block

    def lines(self) -> Iterator[Dict[str, Any]]:
        """Reads the bytes that have come and returns their whole lines. Raises LinkError after them if the connection
        is gone."""
        gone: Optional[LinkError] = None
        try:
            self.fill()
        except LinkError as error:
            gone = error
        data = self.line()
        while data is not None:
            yield data
            data = self.line()
        if gone is not None:
            raise gone

    def line(self) -> Optional[Dict[str, Any]]:
        """The next whole line; None if there is none yet. Raises LinkError for a line that is wrong."""
        limit = HANDSHAKE_BYTES if self.key is None else LINE_BYTES
        end = self.received.find(b"\n", 0, limit)
        if end < 0:
            if len(self.received) >= limit:
                raise LinkError(f"it sent a line of more than {limit} bytes")
            return None
        text = bytes(self.received[:end])
        del self.received[: end + 1]
        if self.key is not None:
            claimed, _, text = text.partition(b" ")
            if not hmac.compare_digest(claimed, self._line_mac(0, text)):
                raise LinkError("a line was changed, repeated or left out on the way")
        try:
            data = json.loads(text.decode("utf-8"))
        except (ValueError, RecursionError):
            raise LinkError("a line is not JSON") from None
        if not isinstance(data, dict):
            raise LinkError("a line is not a JSON object")
        return data

    def _line_mac(self, way: int, text: bytes) -> bytes:
        assert self.key is not None
        counter = self.counters[way].to_bytes(8, "big")
        self.counters[way] += 1
        return mac(self.key, self.directions[way], counter, text).encode()
