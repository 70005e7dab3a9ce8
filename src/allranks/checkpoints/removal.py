"""Removes a file or a tree below an open folder, and nothing that is not plainly the run's own.

Every step goes through a directory descriptor (`dir_fd`) and never through a link. A tree is surveyed
first: one entry of another owner or on another device, one pipe or device, and all of it stays. A folder
is renamed before it is emptied, so that a removal that broke off is never taken for a checkpoint.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import List, Optional

REMOVING = ".allranks-removing-"
MAX_DEPTH = 32

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotOurs(Exception):
    """Something must stay; the message says what and why."""


@dataclass(frozen=True)
class Home:
    """The run's output folder, held open: what must agree with it may be removed."""

    fd: int
    device: int
    owner: int

    @classmethod
    def open(cls, directory: str) -> "Home":
        """The folder itself may be named through a link; nothing below it may be one."""
        fd = os.open(os.path.realpath(directory), _FLAGS)
        info = os.fstat(fd)
        return cls(fd, info.st_dev, info.st_uid)

    def close(self) -> None:
        os.close(self.fd)

    def require_own(self, info: os.stat_result, name: str) -> None:
        if info.st_dev != self.device:
            raise NotOurs("%s is on another device" % name)
        if info.st_uid != self.owner:
            raise NotOurs("%s belongs to user %d, the folder to user %d" % (name, info.st_uid, self.owner))

    def enter(self, parent: int, name: str) -> int:
        """A descriptor of the folder `name` in `parent`; raises NotOurs if it is a link or belongs to somebody else."""
        try:
            fd = os.open(name, _FLAGS, dir_fd=parent)
        except NotADirectoryError:
            raise NotOurs("%s is not a folder of its own" % name) from None
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise NotOurs("%s cannot be entered: %s" % (name, error.strerror)) from None
        try:
            self.require_own(os.fstat(fd), name)
        except NotOurs:
            os.close(fd)
            raise
        return fd


def survey(home: Home, parent: int, name: str, depth: int = 0) -> int:
    """The bytes that removing `name` frees; raises NotOurs where any of it must stay.

    A link counts as itself: it is unlinked, what it points to is never looked at.
    """
    info = os.stat(name, dir_fd=parent, follow_symlinks=False)
    home.require_own(info, name)
    if stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
        return info.st_blocks * 512 if info.st_nlink == 1 else 0
    if not stat.S_ISDIR(info.st_mode):
        raise NotOurs("%s is not a file and no folder" % name)
    if depth >= MAX_DEPTH:
        raise NotOurs("%s lies more than %d folders deep" % (name, MAX_DEPTH))
    fd = home.enter(parent, name)
    try:
        return sum(survey(home, fd, below, depth + 1) for below in os.listdir(fd))
    finally:
        os.close(fd)


def remove(home: Home, parent: int, name: str) -> int:
    """Removes what `survey` allows and returns the bytes it freed; what has gone meanwhile frees none."""
    try:
        freed = survey(home, parent, name)
    except FileNotFoundError:
        return 0
    info = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISDIR(info.st_mode):
        os.unlink(name, dir_fd=parent)
        return freed
    aside = name if name.startswith(REMOVING) else _set_aside(parent, name)
    _empty(home, parent, aside, 0)
    return freed


def _set_aside(parent: int, name: str) -> str:
    for number in range(1000):
        aside = "%s%s%s" % (REMOVING, name, "-%d" % number if number else "")
        if not _exists(parent, aside):
            os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=parent)
            return aside
    raise NotOurs("%s: a thousand removals of it broke off" % name)


def _exists(parent: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
        return True
    except FileNotFoundError:
        return False


def _empty(home: Home, parent: int, name: str, depth: int) -> None:
    """Looks at each entry again at the moment it goes: the survey may be seconds old."""
    if depth > MAX_DEPTH:
        raise NotOurs("%s lies more than %d folders deep" % (name, MAX_DEPTH))
    fd = home.enter(parent, name)
    try:
        for below in os.listdir(fd):
            try:
                info = os.stat(below, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                continue
            home.require_own(info, below)
            if stat.S_ISDIR(info.st_mode):
                _empty(home, fd, below, depth + 1)
            else:
                os.unlink(below, dir_fd=fd)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=parent)


def leftovers(home: Home) -> List[str]:
    """Folders whose removal broke off."""
    return sorted(name for name in os.listdir(home.fd) if name.startswith(REMOVING))


def read_small(home: Home, parent: int, name: str, limit: int) -> Optional[bytes]:
    """A small regular file of the run's own; None where it is not there, a link, or larger than `limit`."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        fd = os.open(name, flags, dir_fd=parent)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_size > limit or info.st_uid != home.owner:
            return None
        return file.read(limit)


def replace_file(parent: int, name: str, content: bytes) -> None:
    """Replaces a file in one step: written under a temporary name, synced, renamed, the folder synced."""
    temporary = ".allranks-%s.tmp" % name
    try:
        os.unlink(temporary, dir_fd=parent)
    except FileNotFoundError:
        pass
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o644, dir_fd=parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        try:
            os.unlink(temporary, dir_fd=parent)
        except FileNotFoundError:
            pass
        raise
    os.fsync(parent)
