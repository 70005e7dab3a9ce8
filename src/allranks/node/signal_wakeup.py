"""Signals that wake a loop at once: each writes a byte to a pipe that the loop polls with its other handles."""

from __future__ import annotations

import os
import signal
from typing import Callable, Iterable


class SignalWakeup:
    """Takes over this process's signals. `heard` is called with the number of each in `numbers`, between two lines of
    the loop. A child's end only wakes it, and SIGHUP (a closed terminal) does nothing.

    `handle` is readable once a signal has come. Must be made in the main thread.
    """

    def __init__(self, numbers: Iterable[int], heard: Callable[[int], None]) -> None:
        self.handle, bell = os.pipe()
        for end in (self.handle, bell):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in numbers:
            signal.signal(number, lambda number, frame: heard(number))

    def clear(self) -> None:
        """Call it before you look at the things that the signals changed."""
        try:
            os.read(self.handle, 4096)
        except BlockingIOError:
            pass
