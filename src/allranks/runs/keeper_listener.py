"""The keeper's port, its leases, and the findings about missing supervisors."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple

from allranks.core import BLOCK, WARN, Event, Finding, Where, event_from_json
from allranks.core.messages import ToKeeper, ToSupervisor
from allranks.core.payloads import Refused, as_json, decode
from allranks.node.paths import read_json
from allranks.node.supervisor_link import Listener, Message

POLL_SECONDS = 0.2
RENEWALS = 15
"""How often a lease is renewed in its length. A head that stands still uses up the rest of the others' leases: of 30 s
at least 28 s. A third of the length was too seldom: a pause of 23 s ended a healthy run if it began late enough."""

HELD_UP_FROM_SECONDS = 3.0
HELD_UP_SECONDS = 600.0
"""A file server that fails over or reboots answers again within minutes. A keeper that is blocked for longer counts
as lost."""

MOST_KEPT = 100_000
"""Messages that are read while the keeper is blocked: about 100 MB. Further ones wait in the connections."""


def listener_on(key: bytes, place: Dict[str, Any], nodes: List[str]) -> Listener:
    """Listens on the head's own address if this machine has it; otherwise (address translation) on all addresses."""
    port = int(place.get("port") or 0)
    try:
        return Listener(key, str(place["host"]), port, nodes)
    except OSError as error:
        if error.errno not in (errno.EADDRNOTAVAIL, None) and not isinstance(error, socket.gaierror):
            raise
        return Listener(key, "", port, nodes)


def read(data: Mapping[str, Any]) -> Tuple[ToKeeper, Optional[Event], str]:
    """A supervisor's message, the event in it, and the error in it."""
    try:
        said = decode(ToKeeper, data)
        event = None if said.event is None else event_from_json(said.event)
    except Refused as error:
        return ToKeeper(), None, str(error)
    return said, event, f"{event.kind}: {event.odd[0]}" if event is not None and event.odd else ""


class Leases(threading.Thread):
    """Renews the leases of the nodes in `joined`, and receives their messages.

    It is a separate thread: the keeper's own thread may wait for a file system that does not answer, and healthy
    ranks must not end for that reason. While that thread is blocked, this one also reads, or the kernel would end the
    connections of nodes whose heartbeats nobody takes. A keeper that is blocked for `HELD_UP_SECONDS` counts as dead;
    then the leases end.
    """

    def __init__(self, listener: Listener, joined: Mapping[str, Any], seconds: float):
        super().__init__(name="leases", daemon=True)
        self._listener, self._joined, self._seconds = listener, joined, seconds
        self._turned_at = time.monotonic()
        self._over = threading.Event()
        self._reading = threading.Lock()
        self._kept: List[Message] = []
        """Read while the keeper was blocked."""

    def heard(self) -> List[Message]:
        """The messages that came within `POLL_SECONDS`. If the keeper was blocked, all waiting messages, so that no
        node counts as silent because of that. Many nodes send without a pause: it reads for HELD_UP_FROM_SECONDS at
        most."""
        now = time.monotonic()
        held_up, self._turned_at = now - self._turned_at > HELD_UP_FROM_SECONDS, now
        with self._reading:
            kept, self._kept = self._kept, []
            more = self._listener.poll(POLL_SECONDS)
            messages = kept + more
            while held_up and more and time.monotonic() < now + HELD_UP_FROM_SECONDS:
                more = self._listener.poll(POLL_SECONDS)
                messages += more
                self._turned_at = time.monotonic()
        return messages

    def run(self) -> None:
        while not self._over.wait(self._seconds / RENEWALS):
            blocked = time.monotonic() - self._turned_at
            if blocked < HELD_UP_SECONDS:
                for node in list(self._joined):
                    self._listener.send(node, as_json(ToSupervisor(lease=self._seconds)))
                if blocked > HELD_UP_FROM_SECONDS:
                    self._read_on()

    def _read_on(self) -> None:
        with self._reading:
            while len(self._kept) < MOST_KEPT and (more := self._listener.poll(0.0)):
                self._kept += more

    def end(self) -> None:
        self._over.set()
        self.join()


class Patience:
    """Waits for supervisors as long as they come: of a thousand nodes the controller may still start the last ones when
    the first have been here for minutes."""

    def __init__(self, seconds: float):
        self.seconds, self.joined, self.until = seconds, -1, 0.0

    def is_over(self, joined: int) -> bool:
        """Whether none has come for so long; `joined` is how many are here."""
        if joined > self.joined:
            self.joined, self.until = joined, time.monotonic() + self.seconds
        return time.monotonic() > self.until


def did_not_join(node: str, job: Mapping[str, Any], root: str, port: int) -> Finding:
    """The finding about a node that did not join. `root` is the run directory, where a complete submission has left a
    mark."""
    task = job["keep"]
    mark = task.get("submitted")
    cut = mark is not None and read_json(os.path.join(root, str(mark))) is None
    saw = (
        f"its supervisor did not reach the keeper at {job['keeper']['host']}:{port}:"
        f" none came for {task['join_seconds']:.0f} s."
    )
    fix = f"allranks logs {job['run_id']} --node {node}; check that the head's port is open to it."
    if cut:
        saw = (
            f"its supervisor did not come: none came for {task['join_seconds']:.0f} s, and the controller has not "
            "reported that all nodes are started."
        )
        fix = "start the run again: allranks run FILE. The controller must stay until all nodes are started."
    return Finding(
        id="submission-cut" if cut else "node-did-not-join",
        verdict=BLOCK,
        where=Where(node=node),
        saw=saw,
        why="no rank was started anywhere: the others would wait for this node until a time-out.",
        fix=fix,
    )


def spare_lost(node: str) -> Finding:
    """The finding about a spare node that is no longer heard."""
    return Finding(
        id="spare-lost",
        verdict=WARN,
        where=Where(node=node),
        saw="nothing is heard from this spare node.",
        why="the training continues; there is one spare less for a failed node.",
        fix=f"check whether {node} is up. It is a spare again when its supervisor is heard.",
    )
