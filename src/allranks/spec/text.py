"""Reads a text file that a user named, and refuses at once what is not one."""

from __future__ import annotations

import difflib
import os
import stat
from pathlib import Path

from allranks.spec.problems import refused

MAX_BYTES = 1 << 20
"""1 MiB: a run file of 16,384 nodes with addresses is smaller."""

UTF16 = (b"\xff\xfe", b"\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"


def at_home(path: str) -> str:
    """`~` replaced by this machine's home folder; `~user` of an unknown user stays as it is."""
    try:
        return str(Path(path).expanduser())
    except RuntimeError:
        return path


def read(path: str, label: str | None = None) -> str:
    """The text of the file at `path`, which messages call `label`. Raises BadInput if it cannot be used."""
    return decode(read_bytes(path, label or path), label or path)


def read_bytes(path: str, label: str) -> bytes:
    """At most `MAX_BYTES` of a regular file. A device or a pipe is refused, since it may never end."""
    try:
        # Without O_NONBLOCK, opening a pipe without a writer would never return.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise refused(*cannot_open(error, path), label) from None
    try:
        state = os.fstat(handle)
        if stat.S_ISDIR(state.st_mode):
            raise refused("a folder, not a file.", "", "the path of a file in it", label)
        if not stat.S_ISREG(state.st_mode):
            why = "it may never end."
            raise refused("a device or a pipe, not a file.", why, "write it to a file first", label)
        with open(handle, "rb", closefd=False) as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise refused(*cannot_open(error, path), label) from None
    finally:
        os.close(handle)
    if len(data) > MAX_BYTES:
        saw = f"{max(state.st_size, len(data)):,} bytes; at most {MAX_BYTES:,} are read."
        why = "it is data, a log or weights, not a file that somebody wrote by hand."
        raise refused(saw, why, "the path of the right file", label)
    return data


def cannot_open(error: OSError | ValueError, path: str) -> tuple[str, str, str]:
    """The error's parts: (observation, reason, fix)."""
    if isinstance(error, FileNotFoundError):
        near = nearest_file(Path(path))
        return "file not found.", "", f"did you mean {near}?" if near else "the path of a file that exists"
    if isinstance(error, PermissionError):
        return "it may not be read by this user.", "", "chmod u+r, or run as its owner"
    if isinstance(error, OSError):
        return f"it cannot be read: {error.strerror or error}.", "", "a path that can be read"
    return "its path holds a NUL character.", "no file system can name it.", "the path of a file that exists"


def nearest_file(path: Path) -> str | None:
    """The existing file in the folder of a missing one whose name is most similar; None if no name is similar."""
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except OSError:
        return None
    near = difflib.get_close_matches(path.name, names, n=1)
    return str(path.with_name(near[0])) if near else None


def decode(data: bytes, label: str) -> str:
    """UTF-8 text of it, without a byte order mark; the line of the first byte that is none."""
    if data.startswith(UTF16):
        do = "save it as UTF-8, or: iconv -f UTF-16 -t UTF-8"
        raise refused("it is written in UTF-16.", "it is read as UTF-8.", do, label)
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        saw = "a NUL byte: this is a binary file, or UTF-16 without its mark."
        raise refused(saw, "", "the path of a text file in UTF-8", label, line)
    try:
        return data.removeprefix(UTF8_MARK).decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        saw = f"byte 0x{error.object[error.start]:02x} is not UTF-8."
        why = "the file is binary, or saved in another encoding."
        raise refused(saw, why, "save it as UTF-8, or: iconv -f LATIN1 -t UTF-8", label, line) from None
