"""Runs a user's command on this node to its end or its time limit, and keeps its output up to a limit.

It gets no shell and no input. When its time is over, or the caller no longer waits for the answer, it is ended with
everything that it has started.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from typing import Any, Callable, Dict, Mapping

from allranks.core import BadInput, Problem
from allranks.core.untrusted import number
from allranks.node import processes
from allranks.node.stopping import end_descendants

MOST_BYTES = 1 << 20
"""The most that is kept of the command's output: one half from its start, the other from its end."""

LOOK_SECONDS = 0.2
GRACE_SECONDS = 3.0
"""Between SIGTERM and SIGKILL."""

LAST_WORDS_SECONDS = 1.0
"""For output that is still in the pipe when the command has ended. A process that it left running may keep the pipe
open forever."""


def run(wanted: Mapping[str, Any], gone: Callable[[], bool]) -> Dict[str, Any]:
    """`wanted` is `{"argv", "seconds"}`; the answer `{"code", "output", "left_out_bytes", "seconds", "timed_out"}`.

    `code` is negative for a signal, and 127 or 126 with a line of output if the program cannot be started, as in a
    shell; null if the time ran out. Standard output and errors are one text, in the order in which they came.
    """
    argv = wanted.get("argv")
    seconds = number(wanted.get("seconds"))
    example = '{"argv": ["hostname"], "seconds": 60}'
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
        raise BadInput(Problem(saw="the command is not a list of words.", do=example))
    if seconds is None or seconds <= 0:
        raise BadInput(Problem(saw="the command has no time limit.", do=example))
    began = time.monotonic()
    # A process that loses its parent becomes a child of this one, so all that the command started is found below it.
    processes.adopt_orphans()
    try:
        # In this program's process group: a signal that ends the group ends the command with it.
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0
        )
    except (OSError, ValueError) as error:
        return refused(argv[0], error)
    kept = Kept(MOST_BYTES)
    in_time = heard(child, kept, began + seconds, gone)
    if not in_time:
        end_descendants(GRACE_SECONDS)
        drain(child, kept)
    code = child.wait() if in_time else None
    return {
        "code": code,
        "output": kept.text(),
        "left_out_bytes": kept.left_out,
        "seconds": round(time.monotonic() - began, 3),
        "timed_out": not in_time,
    }


def refused(program: str, error: Exception) -> Dict[str, Any]:
    """The answer for a program that cannot be started."""
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    code = 127 if isinstance(error, FileNotFoundError) else 126
    text = "cannot start {}: {}\n".format(program, why)
    return {"code": code, "output": text, "left_out_bytes": 0, "seconds": 0.0, "timed_out": False}


class Kept:
    """The first and the newest bytes of an output, at most `most` of them."""

    def __init__(self, most: int):
        self.half = most // 2
        self.first, self.newest, self.left_out = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        fits = self.half - len(self.first)
        self.first += data[:fits]
        self.newest += data[fits:] if fits < len(data) else b""
        if len(self.newest) > 2 * self.half:
            self._cut()

    def _cut(self) -> None:
        over = max(len(self.newest) - self.half, 0)
        self.left_out += over
        del self.newest[:over]

    def text(self) -> str:
        self._cut()
        between = b"\n[%d bytes left out]\n" % self.left_out if self.left_out else b""
        return bytes(self.first + between + self.newest).decode("utf-8", "replace")


def heard(child: "subprocess.Popen[bytes]", kept: Kept, until: float, gone: Callable[[], bool]) -> bool:
    """Whether the command ended by itself in time; its output goes to `kept`."""
    ended_at = None
    while time.monotonic() < until:
        if read_some(child, kept, LOOK_SECONDS) == b"":
            # The pipe is closed. The command itself may continue without one.
            try:
                child.wait(LOOK_SECONDS)
                return True
            except subprocess.TimeoutExpired:
                pass
        elif child.poll() is not None:
            ended_at = ended_at or time.monotonic()
            if time.monotonic() - ended_at > LAST_WORDS_SECONDS:
                return True
        if gone():
            return False
    return child.poll() is not None


def read_some(child: "subprocess.Popen[bytes]", kept: Kept, seconds: float) -> Any:
    """What came within this time; None for nothing, empty bytes at the end of the output."""
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], seconds)
    if not ready:
        return None
    data = os.read(child.stdout.fileno(), 1 << 16)
    kept.add(data)
    return data


def drain(child: "subprocess.Popen[bytes]", kept: Kept) -> None:
    """Its last words, written on SIGTERM."""
    until = time.monotonic() + LAST_WORDS_SECONDS
    while time.monotonic() < until and read_some(child, kept, LOOK_SECONDS):
        pass
