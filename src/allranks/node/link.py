"""The line between a run's supervisors and its keeper: TCP, every line proved with the run's key.

What is guaranteed: a peer without the key is heard by nobody; a line that was changed, repeated, left
out or moved to another connection ends the connection; a message sent with `Dial.send` arrives once and
in order as long as both programs live, however often the connection breaks. Not guaranteed: secrecy.
Secrets never travel here.

One connection: the dialling side says `{"hello": node, "session": s, "nonce": a}`, the listener answers
`{"nonce": b, "proof": H("keeper")}`, the dialling side `{"proof": H("supervisor")}`, where H(label) is
HMAC-SHA256(key, label, node, session, a, b). Every later line is `<hex mac> <json>\n`, the mac being
HMAC-SHA256(H("lines"), direction, counter, json): a line is good in one place of one connection alone.
"""

from __future__ import annotations

import collections
import hashlib
import hmac
import json
import os
import selectors
import socket
import time
from typing import Any, Deque, Dict, Iterable, List, NamedTuple, Optional, Tuple

LINE_BYTES = 1 << 20
BUFFER_BYTES = 8 << 20
"""What may wait for a peer that does not read. A heartbeat is about 300 bytes: 8 MiB are hours of them."""

HANDSHAKE_BYTES = 4096
HANDSHAKE_SECONDS = 5.0
UNPROVED_PEERS = 64
REDIAL_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Pauses before the next attempt; the last one repeats. Well below any lease worth having (30 s)."""

KEEPALIVE = (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 20_000))
"""A peer that is gone without a word is noticed after 10 + 3 × 5 = 25 s, or 20 s where data waits for it."""


class LinkError(Exception):
    """The peer broke the protocol, lacks the key or went away; the text says which."""


class Message(NamedTuple):
    """`kind` is `joined`, `message` or `lost`; `data` of a `lost` is `{"why": text}`."""

    kind: str
    node: str
    data: Dict[str, Any]


def _mac(key: bytes, *parts: "str | bytes") -> str:
    mac = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        # With its length before it, no part can be taken for the beginning of another.
        mac.update(len(raw).to_bytes(8, "big") + raw)
    return mac.hexdigest()


class _Proof(NamedTuple):
    key: bytes
    node: str
    session: str
    nonces: Tuple[str, str]

    def of(self, label: str) -> str:
        return _mac(self.key, label, self.node, self.session, *self.nonces)

    def holds(self, label: str, claimed: Any) -> bool:
        return isinstance(claimed, str) and hmac.compare_digest(self.of(label).encode(), claimed.encode())


def _tune(sock: socket.socket) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE:
        sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class _Wire:
    """Lines over one non-blocking socket: plain ones during the handshake, proved ones after `prove`."""

    def __init__(self, sock: socket.socket, direction_in: str, direction_out: str):
        self.sock = sock
        self.directions = (direction_in, direction_out)
        self.key: Optional[bytes] = None
        self.counters = [0, 0]
        self.received, self.waiting = bytearray(), bytearray()

    def prove(self, key: bytes) -> None:
        self.key = key

    def queue(self, data: Dict[str, Any]) -> None:
        """Adds one line to what is to be sent. Raises LinkError where the peer has not read for too long."""
        text = json.dumps(data, separators=(",", ":")).encode()
        if self.key is not None:
            text = self._mac(1, text) + b" " + text
        if len(text) >= LINE_BYTES:
            raise LinkError(f"a line of {len(text)} bytes is longer than {LINE_BYTES}")
        if len(self.waiting) + len(text) > BUFFER_BYTES:
            raise LinkError(f"it left {len(self.waiting)} bytes unread")
        self.waiting += text + b"\n"

    def flush(self) -> None:
        """Sends what the socket takes now. Raises LinkError where the connection broke."""
        try:
            while self.waiting:
                del self.waiting[: self.sock.send(self.waiting)]
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            raise LinkError(f"the connection broke: {error.strerror or error}") from None

    def fill(self) -> None:
        """Takes in what has come. Raises LinkError where the peer closed or the connection broke."""
        try:
            block = self.sock.recv(1 << 16)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            raise LinkError(f"the connection broke: {error.strerror or error}") from None
        if not block:
            raise LinkError("the peer closed the connection")
        self.received += block

    def line(self) -> Optional[Dict[str, Any]]:
        """The next whole line, None where there is none yet. Raises LinkError on anything not right."""
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
            if not hmac.compare_digest(claimed, self._mac(0, text)):
                raise LinkError("a line was changed, repeated or left out on the way")
        try:
            data = json.loads(text.decode("utf-8"))
        except (ValueError, RecursionError):
            raise LinkError("a line is no JSON") from None
        if not isinstance(data, dict):
            raise LinkError("a line is no JSON object")
        return data

    def _mac(self, way: int, text: bytes) -> bytes:
        assert self.key is not None
        counter = self.counters[way].to_bytes(8, "big")
        self.counters[way] += 1
        return _mac(self.key, self.directions[way], counter, text).encode()


class _Peer:
    """One accepted connection; `node` is None until the peer has proved the key."""

    def __init__(self, sock: socket.socket):
        self.wire = _Wire(sock, "to-keeper", "to-supervisor")
        self.deadline = time.monotonic() + HANDSHAKE_SECONDS
        self.proof: Optional[_Proof] = None
        self.node: Optional[str] = None
        self.session = ""


class Listener:
    """The keeper's side. For one thread. `nodes` are the names that may join; None lets any name in.

    `host` is an address of this machine; "" listens on all. Raises OSError where the port is taken.
    """

    def __init__(self, key: bytes, host: str, port: int = 0, nodes: Optional[Iterable[str]] = None):
        self._key = key
        self._nodes = None if nodes is None else frozenset(nodes)
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ, None)
        self._peers: Dict[str, _Peer] = {}
        self._unproved: List[_Peer] = []
        self._delivered: Dict[str, Tuple[str, int]] = {}
        self._messages: List[Message] = []

    def poll(self, timeout_seconds: float) -> List[Message]:
        """What has come; waits for the first of it for at most `timeout_seconds`."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            self._turn(0.0 if self._messages else max(0.0, deadline - time.monotonic()))
            if self._messages or time.monotonic() >= deadline:
                messages, self._messages = self._messages, []
                return messages

    def send(self, node: str, data: Dict[str, Any]) -> bool:
        """Hands `data` to the node's connection; False where there is none, or where it broke.

        A True is no receipt: after a `lost` and a new `joined`, say again what matters.
        """
        peer = self._peers.get(node)
        if peer is None:
            return False
        try:
            peer.wire.queue(data)
            self._flush(peer)
        except LinkError as error:
            self._drop(peer, str(error))
            return False
        return True

    def close(self) -> None:
        """Sends what is still waiting, for at most 2 s, and closes everything."""
        deadline = time.monotonic() + 2.0
        while time.monotonic() < deadline and any(peer.wire.waiting for peer in self._peers.values()):
            self._turn(0.05)
        for peer in [*self._peers.values(), *self._unproved]:
            peer.wire.sock.close()
        self._socket.close()
        self._selector.close()

    def _turn(self, timeout_seconds: float) -> None:
        for peer in self._unproved:
            timeout_seconds = min(timeout_seconds, max(0.0, peer.deadline - time.monotonic()))
        for key, mask in self._selector.select(timeout_seconds):
            if key.data is None:
                self._accept()
            elif key.data.wire.sock.fileno() >= 0:
                self._serve(key.data, mask)
        now = time.monotonic()
        for peer in [peer for peer in self._unproved if peer.deadline <= now]:
            self._drop(peer, "no proof of the key in time")

    def _accept(self) -> None:
        try:
            sock, _ = self._socket.accept()
            _tune(sock)
        except OSError:
            return  # gone again before we looked
        peer = _Peer(sock)
        self._unproved.append(peer)
        self._selector.register(sock, selectors.EVENT_READ, peer)
        if len(self._unproved) > UNPROVED_PEERS:
            self._drop(self._unproved[0], "too many peers without a proof")

    def _serve(self, peer: _Peer, mask: int) -> None:
        try:
            if mask & selectors.EVENT_READ:
                self._read(peer)
            self._flush(peer)
        except LinkError as error:
            self._drop(peer, str(error))

    def _read(self, peer: _Peer) -> None:
        gone: Optional[LinkError] = None
        try:
            peer.wire.fill()
        except LinkError as error:
            gone = error  # what came before it still counts
        before = self._last(peer)
        while True:
            data = peer.wire.line()
            if data is None:
                break
            if peer.node is None:
                self._handshake(peer, data)
            else:
                self._take(peer, peer.node, data)
        if gone is not None:
            raise gone
        if self._last(peer) > before:
            peer.wire.queue({"ack": self._last(peer)})

    def _last(self, peer: _Peer) -> int:
        session, last = self._delivered.get(peer.node or "", ("", 0))
        return last if session == peer.session else 0

    def _handshake(self, peer: _Peer, data: Dict[str, Any]) -> None:
        if peer.proof is None:
            words = [data.get(name) for name in ("hello", "session", "nonce")]
            node, session, theirs = (word if isinstance(word, str) else "" for word in words)
            if not (node and session and theirs):
                raise LinkError("it sent no hello")
            if self._nodes is not None and node not in self._nodes:
                raise LinkError("it names a node that is none of the run's")
            ours = os.urandom(16).hex()
            peer.proof = _Proof(self._key, node, session, (theirs, ours))
            peer.wire.queue({"nonce": ours, "proof": peer.proof.of("keeper")})
        elif peer.proof.holds("supervisor", data.get("proof")):
            self._join(peer, peer.proof)
        else:
            raise LinkError("it does not have the run's key")

    def _join(self, peer: _Peer, proof: _Proof) -> None:
        old = self._peers.pop(proof.node, None)
        if old is not None:
            self._close(old)  # the node dialled again before we noticed that the old connection was dead
        self._unproved.remove(peer)
        peer.node, peer.session = proof.node, proof.session
        if self._last(peer) == 0:
            self._delivered[proof.node] = (proof.session, 0)
        peer.wire.prove(bytes.fromhex(proof.of("lines")))
        peer.wire.queue({"welcome": True, "have": self._last(peer)})
        self._peers[proof.node] = peer
        self._messages.append(Message("joined", proof.node, {}))

    def _take(self, peer: _Peer, node: str, data: Dict[str, Any]) -> None:
        number = data.pop("seq", None)
        if number is not None:
            if not isinstance(number, int) or number <= self._last(peer):
                return  # sent again after a broken connection, but it had arrived
            self._delivered[node] = (peer.session, number)
        self._messages.append(Message("message", node, data))

    def _flush(self, peer: _Peer) -> None:
        peer.wire.flush()
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.wire.waiting else 0)
        self._selector.modify(peer.wire.sock, events, peer)

    def _drop(self, peer: _Peer, why: str) -> None:
        self._close(peer)
        if peer in self._unproved:
            self._unproved.remove(peer)
        if peer.node is not None and self._peers.get(peer.node) is peer:
            del self._peers[peer.node]
            self._messages.append(Message("lost", peer.node, {"why": why}))

    def _close(self, peer: _Peer) -> None:
        try:
            self._selector.unregister(peer.wire.sock)
        except (KeyError, ValueError):
            pass  # closed already
        peer.wire.sock.close()


def _listen(host: str, port: int) -> socket.socket:
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


class Dial:
    """The supervisor's side. For one thread. It dials again by itself whenever the connection is gone.

    `send` numbers each message and keeps it until the keeper has said that it arrived. `fileno` becomes
    readable when `poll` has something to do, so that a loop may wait for it among other things.
    """

    def __init__(self, key: bytes, host: str, port: int, node: str):
        self._key, self._address, self._node = key, (host, port), node
        self._session = os.urandom(8).hex()
        self._selector = selectors.EpollSelector()
        self._wire: Optional[_Wire] = None
        self._proof: Optional[_Proof] = None
        self._nonce = ""
        self._deadline = 0.0
        self._attempts, self._next_attempt = 0, 0.0
        self._number = 0
        self._unsent: Deque[Tuple[int, Dict[str, Any]]] = collections.deque()
        self._unacknowledged: Deque[Tuple[int, Dict[str, Any]]] = collections.deque()
        self._kept_bytes = 0
        self.alive = False
        self.dropped = 0
        self.why_lost = ""

    def fileno(self) -> int:
        return self._selector.fileno()

    def connect(self, timeout_seconds: float) -> bool:
        """Dials until the keeper has proved the key and welcomed us; False where it has not in time."""
        deadline = time.monotonic() + timeout_seconds
        inbox: List[Dict[str, Any]] = []
        while not self.alive and time.monotonic() < deadline:
            inbox += self.poll(min(0.05, max(0.0, deadline - time.monotonic())))
        self._early = inbox
        return self.alive
