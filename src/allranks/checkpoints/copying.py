"""Copies a checkpoint to other storage: slowly on purpose, from where it broke off, and verified by digest.

The copy grows under a temporary name and is moved into place when every file's digest is the source's. The
files of an earlier try are kept as far as they are the same. Meant to run in a separate process: a write to
storage that hangs cannot be interrupted.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import time
from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Tuple

from allranks.checkpoints import manifest as manifests
from allranks.node.paths import unless_gone
from allranks.worker.adapter_files import sync

COPYING = ".allranks-copying-"
CHUNK_BYTES = 1 << 20

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class CopyDiffers(OSError):
    """The copy, read back, differs from what was written."""


@dataclass(frozen=True)
class CopyReport:
    """`copied_bytes` were written now, `kept_bytes` were there from an earlier try."""

    target: str
    files: int
    copied_bytes: int
    kept_bytes: int
    seconds: float

    def as_json(self) -> Dict[str, Any]:
        return asdict(self)


def copy(source: str, target: str, bytes_a_second: float = float("inf")) -> CopyReport:
    """Copies the files of the folder `source` (of subfolders too) to `target`. Raises OSError; then `target`
    is not there, or is the whole copy of an earlier call."""
    for tries_left in (2, 1, 0):
        try:
            return _copy(source, target, Pace(bytes_a_second))
        except FileNotFoundError:  # the janitor has taken what nobody needs out of the source meanwhile
            if not tries_left or not os.path.isdir(source):
                raise
    raise AssertionError("the last try returns or raises")


def _copy(source: str, target: str, pace: "Pace") -> CopyReport:
    began, names = time.monotonic(), files_below(source)
    if not names:  # gone meanwhile: an empty folder must not stand for its copy
        raise FileNotFoundError(errno.ENOENT, "no file to copy", source)
    if _is_there(source, target, names):
        return CopyReport(target, len(names), 0, sum(size_of(target, name) for name in names), 0.0)
    parent, name = os.path.split(os.path.abspath(target))
    os.makedirs(parent, exist_ok=True)
    growing = os.path.join(parent, COPYING + name)
    os.makedirs(growing, mode=0o755, exist_ok=True)
    copied = kept = 0
    for each in names:
        new, old = _copy_file(os.path.join(source, each), os.path.join(growing, each), pace)
        copied, kept = copied + new, kept + old
    for stray in set(files_below(growing)) - set(names):  # of an earlier try, pruned at the source since
        os.unlink(os.path.join(growing, stray))
    _into_place(growing, target)
    return CopyReport(target, len(names), copied, kept, round(time.monotonic() - began, 3))


def files_below(folder: str) -> List[str]:
    """Regular files, the manifest last. Links, other checkpoints below and files of saves under way are left out.
    Raises OSError if a folder cannot be read: a copy without its files would pass for a whole one."""
    found = []
    for here, folders, files in os.walk(folder, onerror=unless_gone):
        folders[:] = [
            n for n in folders if not n.startswith(".allranks-") and manifests.step_of_name(n) is None
        ]
        for name in files:
            path = os.path.join(here, name)
            own = not name.endswith(".tmp") and not name.startswith(".allranks-")
            if own and stat.S_ISREG(os.lstat(path).st_mode):
                found.append(os.path.relpath(path, folder))
    return sorted(found, key=lambda name: (os.path.basename(name) == manifests.MANIFEST, name))


def size_of(folder: str, name: str) -> int:
    return os.lstat(os.path.join(folder, name)).st_size


def _is_there(source: str, target: str, names: List[str]) -> bool:
    """An earlier copy with the same files: the manifest, which is moved last, says the rest."""
    try:
        same = all(size_of(source, name) == size_of(target, name) for name in names)
        return same and digest_of(os.path.join(source, manifests.MANIFEST)) == digest_of(
            os.path.join(target, manifests.MANIFEST)
        )
    except OSError:
        return False


class Pace:
    """Waits so that no more than so many bytes per second pass."""

    def __init__(self, bytes_a_second: float):
        self.rate, self.due = bytes_a_second, time.monotonic()

    def passed(self, size: int) -> None:
        now = time.monotonic()
        self.due = max(self.due, now) + size / self.rate
        if self.due > now:
            time.sleep(self.due - now)


def _copy_file(source: str, target: str, pace: Pace) -> Tuple[int, int]:
    """(bytes written, bytes kept). The copy is read back from the storage and compared."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    whole = hashlib.sha256()
    with os.fdopen(os.open(source, READ), "rb", buffering=0) as reading:
        kept = _same_beginning(reading, target, whole)
        with os.fdopen(os.open(target, _WRITE, 0o644), "wb", buffering=0) as writing:
            writing.truncate(kept)
            writing.seek(kept)
            reading.seek(kept)
            copied = 0
            for part in iter(lambda: reading.read(CHUNK_BYTES), b""):
                _write(writing, part)
                whole.update(part)
                copied += len(part)
                pace.passed(len(part))
            os.fsync(writing.fileno())
            _forget(writing.fileno())
    if digest_of(target) != whole.hexdigest():
        os.unlink(target)
        raise CopyDiffers(0, "what was read back differs from what was written", target)
    return copied, kept


def _write(file: Any, part: bytes) -> None:
    view = memoryview(part)
    while view:
        view = view[file.write(view) :]


def _same_beginning(reading: Any, target: str, whole: Any) -> int:
    """How many bytes of an earlier try are the source's; they are counted into `whole`."""
    try:
        there = os.open(target, READ)
    except OSError:
        return 0
    same = 0
    with os.fdopen(there, "rb", buffering=0) as earlier:
        while True:
            old = earlier.read(CHUNK_BYTES)
            if not old:
                return same
            new = reading.read(len(old))
            if new != old:
                return same
            whole.update(new)
            same += len(new)


def _forget(fd: int) -> None:
    """Reading back shall ask the storage and not this machine's memory, where the system lets us say so."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def digest_of(path: str) -> str:
    sha = hashlib.sha256()
    with os.fdopen(os.open(path, READ), "rb", buffering=0) as file:
        for part in iter(lambda: file.read(CHUNK_BYTES), b""):
            sha.update(part)
    return sha.hexdigest()


def _into_place(growing: str, target: str) -> None:
    """An older copy of the same name goes only when the new one is whole beside it."""
    old = os.path.join(os.path.dirname(growing), ".allranks-removing-" + os.path.basename(target))
    for path in (growing, os.path.dirname(growing)):
        sync(path)
    if os.path.isdir(target):
        _empty(old)
        os.rename(target, old)
    os.rename(growing, target)
    sync(os.path.dirname(target))
    _empty(old)


def _empty(folder: str) -> None:
    """Removes a folder that a copy made under its temporary name; it follows no link."""
    if os.path.isdir(folder) and not os.path.islink(folder):
        shutil.rmtree(folder, ignore_errors=True)
