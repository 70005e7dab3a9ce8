"""How a supervisor that another launcher started (pdsh, mpirun, srun) gets its order: job, key, secrets.

These launchers do not pass standard input on, and values that they do pass on appear in command lines and logs. So
the engine starts `start RUN NODE --ordered`, whose words hold no value, and the controller calls `order RUN NODE` on
the same node with the order on standard input. The two meet at an abstract Unix socket. No other user can guess its
name and take it first: the supervisor draws it at random, and leaves it in the run's own folder. A socket in that
folder would have no room for its name (107 bytes), nor a place on every network filesystem. Each makes sure by
SO_PEERCRED that the other is the same user.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import struct
import time
from typing import Any, Dict, Mapping, Optional

from allranks.core import AllranksError
from allranks.node.paths import RunDirectory, make_private, read_text, write_text

WAIT_SECONDS = 120.0
"""How long a started supervisor waits for its order: the head is ordered first, and the whole launch takes
seconds; a controller that died leaves nothing that waits for longer."""

ENGINE_SECONDS = 80.0
"""How long `order` waits for the engine: ssh's own ConnectTimeout is 10 s, srun waits for a prolog, and Ray's job
takes up to 30 s for its place after 5 to 20 s in which its driver begins."""

LONGEST_BYTES = 64 << 20
LOOK_SECONDS = 0.5


class NoOrder(AllranksError):
    """No order came, or no supervisor was there to take it."""

    exit_code = 1


def called_off(directory: RunDirectory, node: str) -> NoOrder:
    return NoOrder(f"node {node}: the launch of {directory.run_id} was called off: its folder is not here.")


NAME = re.compile(r"allranks-[0-9a-f]{32}")


def name_file(directory: RunDirectory, node: str) -> str:
    return os.path.join(directory.node(node).root, "order-socket")


def address(directory: RunDirectory, node: str) -> Optional[str]:
    """The name of the socket at which a supervisor waits; None as long as none has said so."""
    name = read_text(name_file(directory, node), 100).strip()
    return "\0" + name if NAME.fullmatch(name) else None


class AwaitedOrder:
    """The order that came; `answer` reports once to its sender how the start went."""

    def __init__(self, connection: socket.socket, wanted: Dict[str, Any]):
        self.connection, self.wanted = connection, wanted

    def answer(self, said: Mapping[str, Any]) -> None:
        try:
            self.connection.sendall(json.dumps(dict(said)).encode())
        except OSError:
            pass  # the sender has gone: the supervisor does not need it
        self.connection.close()


def wait(run_id: str, node: str, seconds: float = WAIT_SECONDS) -> AwaitedOrder:
    """Waits for the order. Raises NoOrder when none comes, or the run's folder goes away meanwhile."""
    directory = RunDirectory(run_id)
    deadline = time.monotonic() + seconds
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        if directory.is_marked():
            _listen(listening, directory, node)
        while time.monotonic() < deadline and directory.is_marked():
            try:
                connection, _ = listening.accept()
            except socket.timeout:
                continue
            wanted = _received(connection)
            if wanted is not None:
                return AwaitedOrder(connection, wanted)
            connection.close()
    if not directory.is_marked():
        raise called_off(directory, node)
    raise NoOrder(f"node {node}: the controller sent no order within {seconds:.0f} s.")


def _listen(listening: socket.socket, directory: RunDirectory, node: str) -> None:
    earlier = _connection(directory, node)
    if earlier is not None:
        earlier.close()
        raise NoOrder(f"node {node}: a supervisor already waits here.")
    name = "allranks-" + secrets.token_hex(16)
    listening.bind("\0" + name)
    listening.listen(4)
    listening.settimeout(LOOK_SECONDS)
    try:
        make_private(directory.node(node).root)  # the engine may come before the order, which makes the rest
        write_text(name_file(directory, node), name + "\n")
    except OSError as error:
        raise NoOrder(f"node {node}: it cannot be said where the order is awaited: {error}") from None


def hand(
    run_id: str, node: str, wanted: Mapping[str, Any], seconds: float = ENGINE_SECONDS
) -> Dict[str, Any]:
    """Hands the order to the supervisor that waits here, as soon as there is one; returns its answer."""
    directory = RunDirectory(run_id)
    with _connected(directory, node, time.monotonic() + seconds, seconds) as connection:
        if not _same_user(connection):
            raise NoOrder(f"node {node}: another user waits for the order of {run_id}.")
        connection.settimeout(seconds)
        try:
            connection.sendall(json.dumps(dict(wanted)).encode())
            connection.shutdown(socket.SHUT_WR)
            return dict(json.loads(_all(connection).decode("utf-8")))
        except (OSError, ValueError):
            raise NoOrder(f"node {node}: the supervisor ended before it was ready.") from None


def _connected(directory: RunDirectory, node: str, deadline: float, seconds: float) -> socket.socket:
    while True:
        connection = _connection(directory, node)
        if connection is not None:
            return connection
        if not directory.is_marked():
            raise called_off(directory, node)
        if time.monotonic() > deadline:
            raise NoOrder(f"node {node}: the launcher has started nothing here within {seconds:.0f} s.")
        time.sleep(0.05)


def _connection(directory: RunDirectory, node: str) -> Optional[socket.socket]:
    """To the supervisor that waits; None if there is none."""
    name = address(directory, node)
    if name is None:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(name)
        return connection
    except OSError:
        connection.close()
        return None


def _received(connection: socket.socket) -> "Dict[str, Any] | None":
    """The order; None from another user, or where it is none."""
    if not _same_user(connection):
        return None
    connection.settimeout(10.0)
    try:
        wanted = json.loads(_all(connection).decode("utf-8"))
    except (OSError, ValueError):
        return None
    return wanted if isinstance(wanted, dict) else None


def _same_user(connection: socket.socket) -> bool:
    layout = "3i"
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(layout))
    _pid, uid, _gid = struct.unpack(layout, found)
    return uid == os.geteuid()


def _all(connection: socket.socket) -> bytes:
    blocks = []
    size = 0
    while size < LONGEST_BYTES:
        block = connection.recv(1 << 16)
        if not block:
            break
        blocks.append(block)
        size += len(block)
    return b"".join(blocks)
