"""A file to which whole lines are appended: journals of nodes and ranks, records of what a run made.

Standard library alone, Python 3.8 and up.
"""

from __future__ import annotations

import errno
import os
from typing import Optional

FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class LineFile:
    """Appends lines with one write(2) each, mode 0600, and follows no link. It is opened when first needed.

    A line that a full disk cut short is ended before the next one, so that it spoils no line but itself. So is one that
    an earlier writer left unfinished. With `follow` the file is opened again if it lost its name or somebody else
    closed its descriptor.
    """

    def __init__(self, path: str, follow: bool = False):
        self.path, self.follow = path, follow
        self._descriptor: Optional[int] = None
        self._torn = False

    def append(self, lines: bytes) -> None:
        """Appends one or more lines, newlines included. Raises OSError if they could not be stored whole, and
        ValueError if the path holds a zero byte."""
        data = lines
        descriptor = self._open()
        if self._torn:
            data = b"\n" + lines
        written = os.write(descriptor, data)
        self._torn = written < len(data)
        if self._torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def close(self) -> None:
        if self._descriptor is not None:
            try:
                os.close(self._descriptor)
            except OSError:
                pass  # a script closed all descriptors
            self._descriptor = None

    def _open(self) -> int:
        if self.follow and self._descriptor is not None and not self._is_ours(self._descriptor):
            self._descriptor = None
        if self._descriptor is None:
            self._descriptor = os.open(self.path, FLAGS, 0o600)
            self._file = os.fstat(self._descriptor)
            size = self._file.st_size
            self._torn = size > 0 and os.pread(self._descriptor, 1, size - 1) != b"\n"
        return self._descriptor

    def _is_ours(self, descriptor: int) -> bool:
        """Whether the number still means our file, and the file still has a name.

        A script that closes all descriptors (a daemon's habit) frees ours, and a file of its own may take it.
        """
        try:
            seen = os.fstat(descriptor)
        except OSError:
            return False
        if (seen.st_dev, seen.st_ino) != (self._file.st_dev, self._file.st_ino):
            return False
        if seen.st_nlink == 0:
            os.close(descriptor)
            return False
        return True
