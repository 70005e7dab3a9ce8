"""The kernel's log lines since this object was made, each with the time at which it was read.

The kernel stamps its lines by its own clock (sched_clock), which may drift away from CLOCK_MONOTONIC: after days of
uptime, a new line would seem old, or an old one new. So these stamps are not used. The log is opened at its end and
read every second, and a line gets the time of that reading.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Deque, List, Optional, Tuple

KERNEL_LINES = 20
KERNEL_WORDS = re.compile(
    r"out of memory|oom-kill|killed process|NVRM: Xid|blocked for more than|not responding|I/O error"
    r"|link is down|remounting filesystem read-only|hardware error|segfault",
    re.IGNORECASE,
)
MOST_RECORDS = 4096
"""At one reading; a kernel that says more has the rest read at the next."""


class KernelRing:
    """May be asked by more than one thread. Raises nothing: `why` says what could not be read."""

    def __init__(self, path: str = "/dev/kmsg"):
        self.path = path
        self.why: Optional[str] = None
        self._lock = threading.Lock()
        self._seen: Deque[Tuple[float, str]] = deque(maxlen=KERNEL_LINES)
        self._descriptor: Optional[int] = None
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with suppress(OSError):
                os.lseek(self._descriptor, 0, os.SEEK_END)
        except OSError as error:
            self.why = f"{path}: {error.strerror}"

    def read_new(self) -> None:
        """Reads the new lines. If this user may not read them (`dmesg_restrict`, a container), the first try has set
        `why`."""
        with self._lock:
            for _ in range(MOST_RECORDS):
                try:
                    record = os.read(self._descriptor, 8192) if self._descriptor is not None else b""
                except BrokenPipeError:
                    continue  # the ring has overwritten the next record
                except BlockingIOError:
                    return
                except OSError as error:
                    self.why = f"{self.path}: {error.strerror}"
                    return
                if not record:
                    return
                line = line_of(record.decode("utf-8", "replace"))
                if line:
                    self._seen.append((time.monotonic(), line))

    def recent(self, seconds: float) -> Tuple[List[str], Optional[str]]:
        """The newest lines of the last seconds that tell of memory, disks, links or GPUs; and why they could not be
        read if they could not."""
        self.read_new()
        since = time.monotonic() - seconds
        with self._lock:
            return [line for at, line in self._seen if at >= since], self.why

    def close(self) -> None:
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
            self._descriptor = None


def line_of(record: str) -> str:
    """The text of one record (`priority,number,microseconds,flags;text`) if it is of a kind that is reported, else
    empty."""
    head, _, text = record.partition(";")
    if head.count(",") < 2:
        return ""
    line = text.split("\n", 1)[0]
    # Some Xids carry the command line of a process, which may be another user's.
    return line.partition(", name=")[0][:300] if KERNEL_WORDS.search(line) else ""
