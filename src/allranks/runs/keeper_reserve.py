"""Reserves space on the head's disk for the last lines of a run: on a full disk a good run must not count as lost."""

from __future__ import annotations

import os

from allranks.node.files import FLAGS

RESERVE_BYTES = 256 << 10
"""Enough for the last lines of the journal, and for state.json with some hundred findings."""


class Reserve:
    """A file that occupies space from the run's start to its end. It never raises."""

    def __init__(self, path: str):
        self.path = path

    def take(self) -> None:
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | FLAGS, 0o600)
            try:
                # Random bytes: a file system without fallocate, or one that compresses, does not reserve space for
                # zeros.
                os.write(handle, os.urandom(RESERVE_BYTES))
            finally:
                os.close(handle)
        except OSError:
            pass

    def give(self) -> None:
        try:
            os.unlink(self.path)
        except OSError:
            pass
