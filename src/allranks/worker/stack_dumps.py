"""Stack dumps on request: what every thread of this process is doing, written by the heartbeat thread.

They work as long as some thread gets the interpreter's lock. A process that SIGSTOP stopped, or that is stuck in C code
that holds the lock, writes nothing: only a debugger from outside can look into it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, List, Optional, Tuple

from allranks.core.rank_events import Frame
from allranks.worker.rank_identity import RankIdentity

REQUEST = "request"
FRAMES = 200
FRAMES_TOLD = 48
"""Of the main thread's stack, as an event: 8,000 ranks may answer at once."""


def mark(path: str) -> Optional[Tuple[int, int]]:
    """A value that changes if a file is written again or touched; None if there is no file. It is not compared with a
    clock: that may be set back, or be another machine's."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns


class StackRequest:
    """Looks whether `request` was touched, and answers with `rank-<R>.txt`."""

    def __init__(self, place: RankIdentity):
        self.folder = place.stacks
        self.name = f"rank-{place.rank}.txt"
        self._answered = self._asked()  # what was asked before this process began was not meant for it

    def poll(self) -> bool:
        """Writes a dump if one is asked for, and says whether. A folder that is not there asks for nothing."""
        if self.folder is None:
            return False
        asked = self._asked()
        if asked in (None, self._answered):
            return False
        self._answered = asked
        self._write(dump())
        return True

    def _asked(self) -> Optional[Tuple[int, int]]:
        return None if self.folder is None else mark(os.path.join(self.folder, REQUEST))

    def _write(self, text: str) -> None:
        """Whole or not at all: readers see the old file until the new one is complete."""
        assert self.folder is not None
        target = os.path.join(self.folder, self.name)
        new = f"{target}.{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(new, flags, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "backslashreplace"))
            os.replace(new, target)
        except OSError:
            os.unlink(new)
            raise


def dump() -> str:
    """All threads' stacks, the main thread first, innermost call last. Source lines are not read: the disk
    they are on may be what everybody waits for."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    main = threading.main_thread().ident
    parts = [f"pid {os.getpid()} at {time.strftime('%Y-%m-%dT%H:%M:%S%z')}"]
    frames = sys._current_frames()
    for ident in sorted(frames, key=lambda ident: (ident != main, ident)):
        if ident == threading.get_ident():
            continue  # this thread, which is only writing this
        parts.append(f"\nThread {ident} ({names.get(ident, '?')}), most recent call last:")
        parts.extend(lines(frames[ident]))
    return "\n".join(parts) + "\n"


def main_thread() -> List[Frame]:
    """The main thread's frames, outermost first; of a very deep stack the innermost."""
    found: List[Frame] = []
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and len(found) < FRAMES_TOLD:
        found.append(Frame(frame.f_code.co_filename[-300:], frame.f_lineno, frame.f_code.co_name[:100]))
        frame = frame.f_back
    return found[::-1]


def lines(frame: Any) -> List[str]:
    """A stack's lines, outermost first; of a very deep one the innermost FRAMES."""
    found = []
    while frame is not None and len(found) < FRAMES:
        code = frame.f_code
        found.append(f'  File "{code.co_filename}", line {frame.f_lineno}, in {code.co_name}')
        frame = frame.f_back
    if frame is not None:
        found.append("  ...")
    return found[::-1]
