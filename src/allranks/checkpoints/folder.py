"""Opens the files of one checkpoint folder and no other file.

Every name is opened part by part below the folder's own descriptor, never through a link that leaves the
folder, and only if it is a regular file: a pipe or a device cannot hold the reader up.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from typing import Any, Dict, List, Tuple

from allranks.checkpoints.weights import Damaged, bounded_int
from allranks.core.text import printable

MAX_JSON_BYTES = 64 << 20
"""A trainer_state.json grows by some 200 bytes a logged step; 300,000 logged steps still fit."""

_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Folder:
    """A checkpoint folder held open. Use as a context manager; `path` is the folder with links resolved."""

    def __init__(self, path: str):
        self.path = os.path.realpath(path)
        self._fd = os.open(self.path, _FOLDER_FLAGS)

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._fd)

    def names(self) -> List[str]:
        """The names in the folder itself, sorted."""
        return sorted(os.listdir(self._fd))

    def has(self, name: str) -> bool:
        """Whether the name exists here, whatever it is; a link counts, also a broken one."""
        try:
            os.lstat(name, dir_fd=self._fd)
            return True
        except FileNotFoundError:
            return False

    def open(self, name: str) -> Tuple[int, int]:
        """(descriptor, size in bytes) of a regular file below the folder.

        Raises FileNotFoundError, OSError where it cannot be read, `Damaged` where it leaves the folder or
        is not a regular file.
        """
        target = os.path.realpath(os.path.join(self.path, name))
        inside = os.path.relpath(target, self.path)
        parts = inside.split(os.sep)
        if os.path.isabs(name) or parts[0] in (os.pardir, os.curdir):
            raise Damaged("checkpoint-link-outside", "%s leads to %s" % (printable(name), printable(target)))
        fd = self._descend(parts)
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            os.close(fd)
            raise Damaged("checkpoint-not-a-file", "%s is not a regular file" % printable(name))
        return fd, info.st_size

    def _descend(self, parts: List[str]) -> int:
        here = os.dup(self._fd)
        try:
            for part in parts[:-1]:
                below = os.open(part, _FOLDER_FLAGS, dir_fd=here)
                os.close(here)
                here = below
            return os.open(parts[-1], _FILE_FLAGS, dir_fd=here)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a socket
                raise Damaged(
                    "checkpoint-not-a-file", "%s is not a regular file" % printable(parts[-1])
                ) from None
            raise
        finally:
            os.close(here)

    def read(self, name: str, limit: int = MAX_JSON_BYTES) -> bytes:
        """The whole content; raises `Damaged` above `limit` bytes, which nobody has looked at then."""
        fd, size = self.open(name)
        with os.fdopen(fd, "rb") as file:
            if size > limit:
                saw = "{} has {:,} bytes, more than the {:,} that are read".format(
                    printable(name), size, limit
                )
                raise Damaged("checkpoint-unreadable", saw)
            return file.read(limit)

    def read_json(self, name: str, limit: int = MAX_JSON_BYTES) -> Dict[str, Any]:
        """A JSON object; raises ValueError where the file holds none, FileNotFoundError where it is not there."""
        try:
            value = json.loads(self.read(name, limit).decode("utf-8"), parse_int=bounded_int)
        except RecursionError:
            raise ValueError("nested too deep") from None
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")
        return value

    def digest(self, name: str) -> Tuple[int, str]:
        """(size in bytes, SHA-256 in hex) of the content."""
        sha, size = hashlib.sha256(), 0
        fd, _ = self.open(name)
        with os.fdopen(fd, "rb", buffering=0) as file:
            while True:
                part = file.read(1 << 20)
                if not part:
                    return size, sha.hexdigest()
                sha.update(part)
                size += len(part)
