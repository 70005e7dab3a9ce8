"""The supervisor's end of the line to the keeper; `supervisor_link` is the other end. It dials until it is through."""

from __future__ import annotations

import collections
import os
import selectors
import socket
import time
from typing import Any, Deque, Dict, List, Optional, Tuple

from allranks.node.wire import (
    BUFFER_BYTES,
    HANDSHAKE_SECONDS,
    TO_KEEPER,
    TO_SUPERVISOR,
    LinkError,
    Proof,
    Wire,
    encode,
    tune,
)

REDIAL_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Pauses before the next attempt; the last one repeats. They are far below a usual lease (30 s)."""


class KeeperLink:
    """For one thread. It dials again by itself whenever the connection is gone.

    `fileno` becomes readable when the connection has something for `poll`, so a loop can wait for it among other
    things. Also call `poll` about every second, since it dials again if the connection is gone.
    """

    def __init__(self, key: bytes, host: str, port: int, node: str):
        self._key, self._host, self._port, self._node = key, host, port, node
        self._session = os.urandom(8).hex()
        self._selector = selectors.EpollSelector()
        self._addresses: List[Tuple[int, Any]] = []
        self._wire: Optional[Wire] = None
        self._proof: Optional[Proof] = None
        self._nonce = ""
        self._deadline, self._next_attempt, self._attempts = 0.0, 0.0, 0
        self._number = 0
        self._outbox: Deque[Tuple[int, bytes]] = collections.deque()
        self._outbox_bytes, self._sent = 0, 0
        self._inbox: List[Dict[str, Any]] = []
        self.alive = False
        self.dropped = 0
        self.why_lost = ""

    def fileno(self) -> int:
        return self._selector.fileno()

    def connect(self, timeout_seconds: float) -> bool:
        """Dials until both sides have proved the key; False if that has not happened in time."""
        deadline = time.monotonic() + timeout_seconds
        while not self.alive and time.monotonic() < deadline:
            self._turn(min(0.05, max(0.0, deadline - time.monotonic())))
        return self.alive

    def send(self, data: Dict[str, Any]) -> bool:
        """Sends now or after the next connect, once. False if it is lost: it is too long, or too much waits already."""
        try:
            text = encode({**data, "seq": self._number + 1})
        except LinkError:
            text = b""
        if not text or self._outbox_bytes + len(text) > BUFFER_BYTES:
            self.dropped += 1
            return False
        self._number += 1
        self._outbox.append((self._number, text))
        self._outbox_bytes += len(text)
        self._push()
        return True

    def tell(self, data: Dict[str, Any]) -> bool:
        """Sends now or not at all: for a sign of life, which is worth nothing later."""
        if not self.alive or self._wire is None:
            return False
        try:
            self._wire.queue(data)
        except LinkError as error:
            self._lose(str(error))
            return False
        self._push()
        return self.alive

    def poll(self, timeout_seconds: float) -> List[Dict[str, Any]]:
        """The keeper's new messages; waits at most `timeout_seconds` for the first one."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            self._turn(0.0 if self._inbox else max(0.0, deadline - time.monotonic()))
            if self._inbox or time.monotonic() >= deadline:
                messages, self._inbox = self._inbox, []
                return messages

    def drain(self, timeout_seconds: float) -> bool:
        """Waits until the keeper has all that was sent; False if the connection or the time ends before that."""
        deadline = time.monotonic() + timeout_seconds
        while self._outbox and self.alive and time.monotonic() < deadline:
            self._turn(min(0.05, max(0.0, deadline - time.monotonic())))
        return not self._outbox

    def close(self) -> None:
        self._lose("closed")
        self._selector.close()

    def _turn(self, timeout_seconds: float) -> None:
        now = time.monotonic()
        if self._wire is None and now >= self._next_attempt:
            self._start()
        elif self._wire is None:
            timeout_seconds = min(timeout_seconds, self._next_attempt - now)
        try:
            for key, _ in self._selector.select(timeout_seconds):
                self._serve(key.data)
            if self._wire is not None and not self.alive and time.monotonic() > self._deadline:
                raise LinkError("no answer in time")
        except LinkError as error:
            self._lose(str(error))
        except ValueError as error:  # another program may answer on the keeper's port, with any data
            self._lose(f"it said what cannot be read: {error}")
        self._push()

    def _start(self) -> None:
        """Begins to connect, to one of the keeper's addresses after the other."""
        self._attempts += 1
        try:
            if not self._addresses:
                found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
                self._addresses = [(entry[0], entry[4]) for entry in found]
            family, address = self._addresses[self._attempts % len(self._addresses)]
            sock = socket.socket(family, socket.SOCK_STREAM)
            self._wire = Wire(sock, TO_SUPERVISOR, TO_KEEPER)
            tune(sock)
            self._selector.register(sock, selectors.EVENT_READ | selectors.EVENT_WRITE, self._wire)
            sock.connect(address)
        except BlockingIOError:
            pass  # it is on its way
        except OSError as error:
            self._lose(f"could not connect: {error.strerror or error}")
            return
        self._deadline = time.monotonic() + HANDSHAKE_SECONDS
        self._proof, self._nonce = None, ""

    def _serve(self, wire: Wire) -> None:
        if not self._nonce:
            problem = wire.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if problem:
                raise LinkError(f"could not connect: {os.strerror(problem)}")
            self._nonce = os.urandom(16).hex()
            wire.queue({"hello": self._node, "session": self._session, "nonce": self._nonce})
            return
        for data in wire.lines():
            self._take(wire, data)

    def _take(self, wire: Wire, data: Dict[str, Any]) -> None:
        if self._proof is None:
            theirs = data.get("nonce")
            proof = Proof(self._key, self._node, self._session, (self._nonce, str(theirs)))
            if not proof.holds("keeper", data.get("proof")):
                raise LinkError("the keeper does not have the run's key")
            wire.queue({"proof": proof.of("supervisor")})
            wire.prove(proof)
            self._proof = proof
        elif "welcome" in data:
            self._forget(data.get("have"))
            self._sent, self._attempts, self.alive = 0, 0, True
        elif "ack" in data:
            self._forget(data["ack"])
        else:
            self._inbox.append(data)

    def _forget(self, number: Any) -> None:
        """Drops what the keeper has from the outbox."""
        if not isinstance(number, int):
            raise LinkError("an acknowledgement is not a number")
        while self._outbox and self._outbox[0][0] <= number:
            self._outbox_bytes -= len(self._outbox.popleft()[1])
            self._sent = max(0, self._sent - 1)

    def _push(self) -> None:
        """Hands the connection what it takes; the rest of the outbox waits for its acknowledgements."""
        wire = self._wire
        if wire is None or not self._nonce:
            return
        try:
            while self.alive and self._sent < len(self._outbox) and len(wire.waiting) < BUFFER_BYTES // 8:
                wire.queue_text(self._outbox[self._sent][1])
                self._sent += 1
            wire.flush()
        except LinkError as error:
            self._lose(str(error))
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wire.waiting else 0)
        self._selector.modify(wire.sock, events, wire)

    def _lose(self, why: str) -> None:
        if self._wire is not None:
            try:
                self._selector.unregister(self._wire.sock)
            except (KeyError, ValueError):
                pass  # it failed before it was registered
            self._wire.sock.close()
        self._wire, self.alive, self.why_lost = None, False, why
        self._sent = 0
        pause = REDIAL_SECONDS[min(self._attempts, len(REDIAL_SECONDS) - 1)]
        self._next_attempt = time.monotonic() + pause
