"""Appends lines to this rank's file, with one write per line, whatever happens to the disk.

If the file refuses a line (a full disk, a folder that was removed), the line goes to the supervisor over a datagram
socket, if it has one. The file comes first, because it remains when the supervisor has ended.
"""

from __future__ import annotations

import os
import socket
from typing import Optional


class Journal:
    """A file of lines. A line that could not be written whole is reported as not written.

    Opened when first needed, and again when it vanished: the folder may come late, or be made again.
    """

    def __init__(self, path: str, beside: Optional[str] = None):
        """`beside` is the name of the supervisor's socket, in the abstract namespace."""
        self.path, self.beside = path, beside
        self.refused = ""
        """Why the file did not accept a line at the last try; empty if it did."""
        self._descriptor: Optional[int] = None
        self._torn = False

    def write(self, line: str) -> bool:
        """Writes one line; False if the file refuses it (full, removed, forbidden) and the supervisor does not take
        it either. Raises nothing."""
        data = line.encode("utf-8", "backslashreplace")
        return self._to_file(data) or self._to_supervisor(data)

    def _to_file(self, line: bytes) -> bool:
        try:
            descriptor = self._open()
            # After half a line a new one must not be glued to it.
            data = (b"\n" if self._torn else b"") + line + b"\n"
            written = os.write(descriptor, data)
        except (OSError, ValueError) as error:
            self.refused = str(getattr(error, "strerror", None) or error)
            self.close()
            return False
        self._torn = written < len(data)
        self.refused = "No space left on device" if self._torn else ""
        return not self._torn

    def _to_supervisor(self, line: bytes) -> bool:
        """The socket is made again for each line: otherwise a script that closes all descriptors could get our number
        for one of its files. A full queue refuses a line, too: nothing here may wait."""
        if not self.beside:
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.sendto(line, b"\0" + self.beside.encode())
        except (OSError, ValueError):
            return False
        return True

    def close(self) -> None:
        if self._descriptor is not None:
            try:
                os.close(self._descriptor)
            except OSError:
                pass  # the script closed all descriptors; it is closed
            self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is not None and not self._is_ours(self._descriptor):
            self._descriptor = None
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            self._descriptor = os.open(self.path, flags, 0o600)
            self._file = os.fstat(self._descriptor)
            self._torn = self._file.st_size > 0 and not self._ends_with_newline()
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

    def _ends_with_newline(self) -> bool:
        with open(self.path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"
