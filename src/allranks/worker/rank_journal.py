"""Appends lines to this rank's file, with one write per line, whatever happens to the disk.

If the file refuses a line (a full disk, a folder that was removed), the line goes to the supervisor over a datagram
socket, if it has one. The file comes first, because it remains when the supervisor has ended.
"""

from __future__ import annotations

import socket
from typing import Optional

from allranks.core.line_file import LineFile


class Journal:
    """A file of lines, opened again if it vanished: the folder may come late, or be made again."""

    def __init__(self, path: str, beside: Optional[str] = None):
        """`beside` is the name of the supervisor's socket, in the abstract namespace."""
        self.path, self.beside = path, beside
        self.refused = ""
        """Why the file did not accept a line at the last try; empty if it did."""
        self._file = LineFile(path, follow=True)

    def write(self, line: str) -> bool:
        """Writes one line; False if the file refuses it (full, removed, forbidden) and the supervisor does not take
        it either. Raises nothing."""
        data = line.encode("utf-8", "backslashreplace")
        return self._to_file(data) or self._to_supervisor(data)

    def _to_file(self, line: bytes) -> bool:
        try:
            self._file.append(line + b"\n")
        except (OSError, ValueError) as error:
            self.refused = str(getattr(error, "strerror", None) or error)
            self.close()
            return False
        self.refused = ""
        return True

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
        self._file.close()
