"""Removing a folder of a run where others can write too: by folder descriptors, through no link, and only its own."""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import AbstractSet, FrozenSet, Iterable, List


def remove_tree(parent: str, name: str, spared: AbstractSet[str] = frozenset()) -> List[str]:
    """Removes the folder `name` of `parent`. Returns the paths below `parent` that stayed: they are `spared` (also
    paths below `parent`), are on another file system, have another owner, or are mount points. Raises OSError."""
    kept: List[str] = []
    below = os.path.realpath(parent) + os.sep
    mounted = frozenset(path[len(below) :] for path in mount_points() if path.startswith(below))
    folder = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        top = os.stat(name, dir_fd=folder, follow_symlinks=False)
        _remove(folder, name, top, kept, mounted | frozenset(spared))
    finally:
        os.close(folder)
    return kept


def remove_files(paths: Iterable[str]) -> List[str]:
    """Removes files; the paths of those that went."""
    gone = []
    for path in paths:
        try:
            os.unlink(path)
            gone.append(path)
        except OSError:
            continue
    return gone


def mount_points(table: str = "/proc/self/mountinfo") -> List[str]:
    """The mount points (field 5, proc_pid_mountinfo(5)); a folder of the same file system can be mounted, too."""
    with open(table, encoding="utf-8", errors="surrogateescape") as file:
        fields = [line.split(" ")[4] for line in file]
    return [re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), field) for field in fields]


def _remove(
    folder: int, name: str, top: os.stat_result, kept: List[str], stays: FrozenSet[str], path: str = ""
) -> None:
    """Removes `name` in `folder` with all that is below it and like `top`; the rest, and what `stays`, goes into
    `kept`."""
    path = f"{path}/{name}" if path else name
    there = os.stat(name, dir_fd=folder, follow_symlinks=False)
    is_folder = stat.S_ISDIR(there.st_mode)
    # On an overlay each file has the device of its layer, only folders have the overlay's own.
    elsewhere = path in stays or (is_folder and there.st_dev != top.st_dev)
    if there.st_uid != top.st_uid or elsewhere:
        kept.append(path)
        return
    if not is_folder:
        _unlink(folder, name, kept, path)
        return
    inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        for entry in os.listdir(inside):
            _remove(inside, entry, top, kept, stays, path)
    finally:
        os.close(inside)
    try:
        os.rmdir(name, dir_fd=folder)
    except OSError:
        if not any(entry.startswith(path + "/") for entry in kept):
            raise


def _unlink(folder: int, name: str, kept: List[str], path: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.EBUSY:  # something was mounted on the file
            raise
        kept.append(path)
