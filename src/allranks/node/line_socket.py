"""Lines of ranks that their files refused: a datagram socket, which needs neither a disk nor a folder.

It is in the abstract namespace (unix(7)), so it leaves no file behind. The ranks get its name in their environment,
but any user of the machine can see it in /proc/net/unix. So the kernel names the sender of each line, and lines count
only from a process of this user with the pid of a rank.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import Any, Dict, List, NamedTuple, Optional

from allranks.core import Event, event_from_json
from allranks.core.payloads import Refused

VARIABLE = "ALLRANKS_LINES_SOCKET"
LINE_BYTES = 256 << 10
LINES_A_TURN = 1000
_CREDENTIALS = struct.Struct("3i")


class Line(NamedTuple):
    """`pid` is the sender's, as the kernel says it. No event: it was refused, and `why`."""

    pid: int
    event: Optional[Event]
    why: str = ""


class Mailbox:
    """`address` is the name that the ranks get; empty if the system does not offer such a socket."""

    def __init__(self) -> None:
        self.address = ""
        self._socket: Optional[socket.socket] = None
        try:
            box = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            name = f"allranks-lines-{os.urandom(16).hex()}"
            box.setblocking(False)
            box.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            box.bind(b"\0" + name.encode())
        except OSError:
            return  # the ranks' files are all there is
        self._socket, self.address = box, name

    @property
    def environment(self) -> Dict[str, str]:
        return {VARIABLE: self.address} if self.address else {}

    @property
    def handles(self) -> List[int]:
        return [self._socket.fileno()] if self._socket is not None else []

    def take(self) -> List[Line]:
        """The lines that have come since the last call, in their order; lines of other senders are dropped."""
        found: List[Line] = []
        for _ in range(LINES_A_TURN if self._socket is not None else 0):
            assert self._socket is not None
            try:
                data, more, flags, _ = self._socket.recvmsg(LINE_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size))
            except OSError:
                break  # EAGAIN: the end
            line = None if flags & socket.MSG_TRUNC else _line(data, more)
            found += [line] if line is not None else []
        return found

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _line(data: bytes, more: List[Any]) -> Optional[Line]:
    for level, kind, said in more:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS) and len(said) == _CREDENTIALS.size:
            pid, uid, _ = _CREDENTIALS.unpack(said)
            break
    else:
        return None
    if uid != os.geteuid():
        return None
    try:
        return Line(pid, event_from_json(json.loads(data.decode("utf-8"))))
    except Refused as error:
        return Line(pid, None, str(error))
    except (ValueError, OverflowError, RecursionError):
        return Line(pid, None)
