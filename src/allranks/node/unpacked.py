"""The folder that the bundle runs from: unpacked once from the bytes that were checked, with Python's `__pycache__`.

This text is the beginning of the bundle's `__main__.py`, so it imports no module of
allranks; `opened` and `check` are those of `private_folder.py`, which BOOT holds.

`bundles/<sha256>` is its user's alone (mode 0700): other users cannot reach its files. Each call fills a folder under
a name of its own first, so two calls, also on two nodes that share a home, never write into one. A machine that loses
its power may keep names without their bytes, and a folder may have come from elsewhere. So the first call after each
boot compares every file with the archive, and drops what was compiled before. A folder that is not whole is replaced
and never only removed: a run may be using it. Nothing depends on the folder: as long as there is none, or none to
trust, modules come from the zip, which is slower.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from typing import Any, Callable

DRAFT_SECONDS = 86400.0
"""A draft that is older was left by a process that was killed. Clocks of a shared home's nodes and server may differ by
hours."""

MARK = ".whole-"
"""Begins the name of an empty file, which says since which boot a folder is known to hold what its archive holds."""


def folder_of(
    path: str, data: bytes, opened: Callable[[str], int], check: Callable[[str, os.stat_result], None]
) -> str:
    """Where the modules of the zip `data`, which is at `path`, come from: its folder, or the zip."""
    folder = os.path.splitext(path)[0]
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            mark = MARK + os.path.basename(folder)[:16] + "-" + file.read().strip()
        bundles = opened(path)
        try:
            if not os.path.lexists(folder):
                put(folder, data, mark, replace=False)
            inside = os.open(
                os.path.basename(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=bundles
            )
        finally:
            os.close(bundles)
        try:
            status = os.fstat(inside)
            check(folder, status)
            if stat.S_IMODE(status.st_mode) & 0o077 or not is_known(folder, data, inside, mark):
                put(folder, data, mark)
            return folder
        finally:
            os.close(inside)
    except OSError:
        return path  # also if another call put its folder there first


def put(folder: str, data: bytes, mark: str, replace: bool = True) -> None:
    """Unpacks the archive and puts it there, in the place of what is there. Without `replace` what another call put
    there first stays: that call imports from it, and for a moment there would be none."""
    import errno
    import shutil

    for entry in os.scandir(os.path.dirname(folder)):
        changed = entry.stat(follow_symlinks=False).st_mtime
        if entry.name.endswith(".draft") and time.time() - changed > DRAFT_SECONDS:
            shutil.rmtree(entry.path, ignore_errors=True)
    draft, aside = ("%s.%s.draft" % (folder, os.urandom(8).hex()) for _ in range(2))
    umask = os.umask(0o077)
    try:
        _archive(data).extractall(draft)
        _mark(os.path.join(draft, mark))
        if replace and os.path.lexists(folder):
            os.rename(folder, aside)
        os.rename(draft, folder)
    except OSError as error:
        if replace or error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
    finally:
        os.umask(umask)
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(aside, ignore_errors=True)


def is_known(folder: str, data: bytes, inside: int, mark: str) -> bool:
    """Whether the open folder `inside` holds what the archive holds; compared once since each boot."""
    try:
        os.stat(mark, dir_fd=inside, follow_symlinks=False)
        return True
    except FileNotFoundError:
        pass
    whole = is_whole(folder, data)
    if whole:
        _mark(os.path.join(folder, mark))
    return whole


def is_whole(folder: str, data: bytes) -> bool:
    """Whether the files are those of the archive and no others; takes away what was compiled of them."""
    import shutil

    archive = _archive(data)
    missing = set(archive.namelist())
    for place, folders, names in os.walk(folder):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
            shutil.rmtree(os.path.join(place, "__pycache__"))
        for name in [one for one in names if place != folder or not one.startswith(MARK)]:
            path = os.path.join(place, name)
            entry = os.path.relpath(path, folder)
            if entry not in missing or not stat.S_ISREG(os.lstat(path).st_mode):
                return False
            with open(path, "rb") as file:
                if file.read() != archive.read(entry):
                    return False
            missing.remove(entry)
        if any(os.path.islink(os.path.join(place, one)) for one in folders):
            return False
    return not missing


def _archive(data: bytes) -> Any:
    import io
    import zipfile

    return zipfile.ZipFile(io.BytesIO(data))


def _mark(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def use(path: str, data: bytes, opened: Callable[[str], int], check: Callable[..., None]) -> None:
    """Modules come from the bundle from here on."""
    sys.path.insert(0, folder_of(path, data, opened, check))
