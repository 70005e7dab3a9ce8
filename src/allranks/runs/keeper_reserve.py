"""Room on the head's disk for a run's last words: a disk that is full by then must not make a good run a lost one."""

from __future__ import annotations

import os

from allranks.node.files import FLAGS

RESERVE_BYTES = 256 << 10
"""For the last lines of the journal and state.json, which holds all findings: some hundred of them."""


class Reserve:
    """A file that takes room from the run's begin to its end. Raises nothing: without it all is as on any full disk."""

    def __init__(self, path: str):
        self.path = path

    def take(self) -> None:
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | FLAGS, 0o600)
            try:
                # Bytes that are really written: a file system without fallocate, or one that compresses, gives no room
                # for zeros.
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
