"""The line between a run's supervisors and its keeper: TCP, every line proved with the run's key.

It guarantees that a peer without the key is not heard. A line that was changed, repeated, left out or moved to another
connection ends the connection. A message sent with `KeeperLink.send` arrives once and in order as long as both programs
live, however often the connection breaks. It does not guarantee secrecy, and secrets never travel here. `wire` has the
form of a line.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from allranks.node import wire
from allranks.node.wire import TO_KEEPER, TO_SUPERVISOR, LinkError, Proof, Wire, listen_on, tune

UNPROVED_PEERS = 64


class Message(NamedTuple):
    """`kind` is `joined`, `message` or `lost`; `data` of a `lost` is `{"why": text}`."""

    kind: str
    node: str
    data: Dict[str, Any]


class _Peer:
    """One accepted connection; `node` is None until the peer has proved the key."""

    def __init__(self, sock: socket.socket):
        self.wire = Wire(sock, TO_KEEPER, TO_SUPERVISOR)
        self.deadline = time.monotonic() + wire.HANDSHAKE_SECONDS
        self.proof: Optional[Proof] = None
        self.node: Optional[str] = None
        self.session = ""


class Listener:
    """The keeper's side. One thread polls; others may send meanwhile.

    `nodes` are the names that may join; None lets any name in. `host` is an address of this machine; "" listens on
    all. Raises OSError if the port is taken.
    """

    def __init__(self, key: bytes, host: str, port: int = 0, nodes: Optional[Iterable[str]] = None):
        self._key = key
        self._nodes = None if nodes is None else frozenset(nodes)
        self._socket = listen_on(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ, None)
        self._peers: Dict[str, _Peer] = {}
        self._unproved: List[_Peer] = []
        self._delivered: Dict[str, Tuple[str, int]] = {}
        self._messages: List[Message] = []
        self._lock = threading.RLock()
        """Held while peers are served, never while anything is waited for."""

    def poll(self, timeout_seconds: float) -> List[Message]:
        """The new messages; waits at most `timeout_seconds` for the first one."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            self._turn(0.0 if self._messages else max(0.0, deadline - time.monotonic()))
            if self._messages or time.monotonic() >= deadline:
                with self._lock:
                    messages, self._messages = self._messages, []
                return messages

    def send(self, node: str, data: Dict[str, Any]) -> bool:
        """Hands `data` to the node's connection; False if there is none, or if it broke.

        True is not a receipt: after `lost` and a new `joined`, send again what matters.
        """
        with self._lock:
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
        with self._lock:
            for peer in [*self._peers.values(), *self._unproved]:
                peer.wire.sock.close()
            self._peers.clear()
            self._socket.close()
            self._selector.close()

    def _turn(self, timeout_seconds: float) -> None:
        for peer in self._unproved:
            timeout_seconds = min(timeout_seconds, max(0.0, peer.deadline - time.monotonic()))
        found = self._selector.select(timeout_seconds)
        with self._lock:
            for key, mask in found:
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
            tune(sock)
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
        except ValueError as error:  # a wrong message costs the peer its own connection, never the run
            self._drop(peer, f"it said what cannot be read: {error}")

    def _read(self, peer: _Peer) -> None:
        before = self._last(peer)
        for data in peer.wire.lines():
            if peer.node is None:
                self._handshake(peer, data)
            else:
                self._take(peer, peer.node, data)
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
                raise LinkError("it names a node that is not in the run")
            ours = os.urandom(16).hex()
            peer.proof = Proof(self._key, node, session, (theirs, ours))
            peer.wire.queue({"nonce": ours, "proof": peer.proof.of("keeper")})
        elif peer.proof.holds("supervisor", data.get("proof")):
            self._join(peer, peer.proof)
        else:
            raise LinkError("it does not have the run's key")

    def _join(self, peer: _Peer, proof: Proof) -> None:
        old = self._peers.pop(proof.node, None)
        if old is not None:
            self._close(old)  # the node dialled again before we noticed that the old connection was dead
        self._unproved.remove(peer)
        peer.node, peer.session = proof.node, proof.session
        if self._last(peer) == 0:
            self._delivered[proof.node] = (proof.session, 0)
        peer.wire.prove(proof)
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
