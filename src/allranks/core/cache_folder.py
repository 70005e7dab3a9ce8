"""A node's folder with the cached parts of base models: whether it is safe to use, what is in it, how it is removed.

Below the folder that the run file names, allranks makes its own: `allranks-base-<uid>`, mode 0700. All files in it are
reached through its descriptor, never through a link.

| name | what |
|---|---|
| `<model>-<layout>-r<R>.part` | rank R's bytes: `<model>` stands for the paths of the model's files |
| the same with `.<random>.draft` behind it | one that is being written: its writer holds a lock (flock) on it |
| `lock` | held while the space is counted and drafts are made |
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

PATH, LIMIT = "ALLRANKS_BASE_CACHE", "ALLRANKS_BASE_CACHE_BYTES"
"""The ranks' variables with the path that the run file names, and the limit in bytes."""

NAME = re.compile(r"[0-9a-f]{16}-[0-9a-f]{32}-r[0-9]{1,8}\.part(\.[0-9a-f]{16}\.draft)?\Z")
LOCK = "lock"
OPEN = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
FOLDER = OPEN | getattr(os, "O_DIRECTORY", 0)


class Unsafe(Exception):
    """The folder cannot be used; says why, and what to do."""


class Entry(NamedTuple):
    name: str
    bytes: int
    """Also those that a draft has reserved and not yet written."""
    used_at: float
    is_draft: bool


class CacheFolder:
    """An open folder of this user. To be closed."""

    def __init__(self, path: str, descriptor: int):
        self.path, self.descriptor = path, descriptor

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def entries(self) -> List[Entry]:
        """The files of this user that have the name of a part or a draft."""
        found = []
        for name in os.listdir(self.descriptor):
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
                if NAME.match(name) and stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                    used = max(status.st_size, status.st_blocks * 512)
                    found.append(Entry(name, used, status.st_mtime, name.endswith(".draft")))
        return found

    def opened(self, name: str, flags: int = OPEN) -> int:
        """The descriptor of a file. Raises OSError; also if it is a link, no plain file, or somebody else's."""
        descriptor = os.open(name, flags | OPEN | os.O_NONBLOCK, 0o600, dir_fd=self.descriptor)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            os.close(descriptor)
            raise OSError(errno.EPERM, "is not a file of this user", name)
        return descriptor

    def is_locked(self, name: str) -> bool:
        """Whether a process writes this draft, or reads this part."""
        try:
            descriptor = self.opened(name)
        except OSError:
            return False
        try:
            return not locked(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """One process at a time. Raises OSError."""
        descriptor = self.opened(LOCK, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def locked(descriptor: int, how: int) -> bool:
    """Whether the lock could be taken at once. A file system without locks counts as one where it could."""
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


def own_name() -> str:
    return "allranks-base-%d" % os.geteuid()


def opened(path: str, make: bool = True) -> Optional[CacheFolder]:
    """The folder of this user below `path`. Without `make` None if there is none. Raises Unsafe."""
    try:
        above = _opened_above(path, make)
        if above is None:
            return None
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(own_name(), 0o700, dir_fd=above)
            inner = os.open(own_name(), FOLDER, dir_fd=above)
        finally:
            os.close(above)
    except FileNotFoundError as error:
        if not make:
            return None
        raise Unsafe("%s: %s" % (path, error.strerror)) from error
    except OSError as error:
        is_link = error.errno in (errno.ELOOP, errno.ENOTDIR)
        why = "is a link, or not a folder" if is_link else error.strerror
        raise Unsafe("%s, or %s in it: %s" % (path, own_name(), why)) from error
    whole = os.path.join(path, own_name())
    try:
        _check(whole, os.fstat(inner), 0o077, (os.geteuid(),))
    except Unsafe:
        os.close(inner)
        raise
    return CacheFolder(whole, inner)


def _opened_above(path: str, make: bool) -> Optional[int]:
    """The folder that the user named; made with mode 0700 if it is missing."""
    if not os.path.isabs(path):
        raise Unsafe("%s is not an absolute path" % path)
    if make:
        _make(path)
    for folder in _folders_above(os.path.realpath(path)):
        _check(folder, os.stat(folder), 0o022, None)
    descriptor = os.open(path, FOLDER)
    try:
        _check(path, os.fstat(descriptor), 0o022, (os.geteuid(), 0))
    except Unsafe:
        os.close(descriptor)
        raise
    return descriptor


def _make(path: str) -> None:
    """With mode 0700 each folder that is missing: `makedirs` gives those above the umask's mode."""
    if not os.path.lexists(path):
        _make(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)


def _folders_above(path: str) -> Iterator[str]:
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        yield path


def _check(path: str, status: os.stat_result, others: int, owners: Optional[Tuple[int, ...]]) -> None:
    """Raises Unsafe for a folder that another user owns, or could put other files into. A sticky bit, or the user's
    own group (of the same number as the user), keeps a folder above safe."""
    if owners is not None and status.st_uid not in owners:
        raise Unsafe("%s belongs to user %d, not to user %d" % (path, status.st_uid, os.geteuid()))
    open_to = status.st_mode & others
    sticky = bool(status.st_mode & stat.S_ISVTX)
    own_group = status.st_gid == os.getgid() == os.geteuid() == status.st_uid
    if not open_to or (others == 0o022 and (sticky or (open_to == 0o020 and own_group))):
        return
    fix = "chmod go-rwx %s" % path if others == 0o077 else "chmod go-w %s" % path
    raise Unsafe("%s is open to other users (mode %04o); fix: %s" % (path, stat.S_IMODE(status.st_mode), fix))


def removed(path: str, dry_run: bool = False) -> Any:
    """`{path, bytes, kept}` after the removal of all parts that no process uses; None if there is no folder. Files
    with other names stay, and the folder with them: they are in `kept`. Raises Unsafe and OSError."""
    folder = opened(path, make=False)
    if folder is None:
        return None
    try:
        with contextlib.nullcontext() if dry_run else folder.alone():
            return _emptied(folder, path, dry_run)
    finally:
        folder.close()


def _emptied(folder: CacheFolder, path: str, dry_run: bool) -> Any:
    gone, kept = 0, set(os.listdir(folder.descriptor)) - {LOCK}
    for entry in folder.entries():
        if folder.is_locked(entry.name):
            continue
        kept.discard(entry.name)
        gone += entry.bytes
        if not dry_run:
            folder.remove(entry.name)
    if not kept and not dry_run:
        folder.remove(LOCK)
        with contextlib.suppress(OSError):
            os.rmdir(folder.path)
    return {"path": folder.path, "bytes": gone, "kept": sorted(kept)}
