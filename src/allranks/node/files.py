"""Whole files: replaced at once, read without trust.

Every reader takes its file for hostile: the training script may write into the run directory, so links,
FIFOs and devices are refused.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import threading
import time
from typing import Any, Dict, Optional

FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


def write_bytes(path: str, data: bytes) -> None:
    """Replaces the file at once: a reader sees the old text or the new one, never a part. Mode 0600.

    Raises OSError (a full disk among others) and then leaves the old file and no rest behind.
    """
    draft = os.path.join(
        os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}.{threading.get_ident()}.draft"
    )
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | FLAGS, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise


def write_text(path: str, text: str) -> None:
    """`write_bytes` of `text` as UTF-8."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_json(path: str, value: Any) -> None:
    """`write_text` of `value` as JSON."""
    write_text(path, json.dumps(value, indent=1) + "\n")


def read_bytes(path: str, most_bytes: int = 64 << 20, offset: int = 0) -> bytes:
    """At most `most_bytes` of a regular file; a negative `offset` counts from its end.

    Empty if there is not a file that may be read.
    """
    try:
        descriptor = open_regular(path)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        try:
            file.seek(offset if offset >= 0 else max(0, os.fstat(descriptor).st_size + offset))
            return file.read(most_bytes)
        except OSError:  # an NFS server answers ESTALE if the file was replaced after it was opened
            return b""


def touch(path: str) -> None:
    """Writes the time into a file. If the disk is full, it only sets the file's own time, or makes an empty file.
    Raises OSError."""
    try:
        write_text(path, f"{time.time()}\n")
    except OSError:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | FLAGS, 0o600)
        try:
            os.utime(descriptor)
        finally:
            os.close(descriptor)


def size_of(path: str) -> int:
    """The bytes in a file; 0 if there is none."""
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except OSError:
        return 0


def read_text(path: str, most_bytes: int = 64 << 20) -> str:
    return read_bytes(path, most_bytes).decode("utf-8", "replace")


_LONG_NUMBER = re.compile(rb"\d{20}")


def value_of(raw: bytes) -> Any:
    """The JSON value that these bytes are, with None in place of integers that no clock and no counter has: the first
    arithmetic with one would raise. Raises ValueError and RecursionError if they are none."""
    text = raw.decode("utf-8")
    if _LONG_NUMBER.search(raw) is None:  # much faster than looking at each number
        return json.loads(text)
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 20 else None)


def read_json(path: str) -> Any:
    """The JSON value in `path`; None if the file is missing, unreadable or no JSON."""
    try:
        return value_of(read_bytes(path))
    except (ValueError, RecursionError):
        return None


def read_object(path: str) -> Dict[str, Any]:
    """`read_json` where an object is expected: empty if there is none."""
    value = read_json(path)
    return value if isinstance(value, dict) else {}


def open_regular(path: str, directory: Optional[int] = None) -> int:
    """A descriptor for reading; OSError if the last part is a link, a FIFO or anything but a file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | FLAGS, dir_fd=directory)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "is not a regular file", path)
