"""The folder that the bundle runs from: unpacked once from the bytes that were checked, with Python's `__pycache__`.

This text is the beginning of the bundle's `__main__.py`, so it imports nothing of ours; `opened` and `check` are those
of `private_folder.py`, which BOOT holds.

`bundles/<sha256>` is its user's alone (mode 0700): nobody else can reach what is in it. It is filled under another name
first. A machine that loses its power may keep names without their bytes, and a folder may have come from elsewhere. So
the first call after each boot compares every file with the archive, and drops what was compiled before. Nothing depends
on the folder: as long as there is none, or none to trust, modules come from the zip, which is slower.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from typing import Any, Callable

DRAFT_SECONDS = 3600.0
"""A draft that is older was left by a process that was killed."""


MARK = ".whole-"
"""Begins the name of an empty file, which says since which boot a folder is known to hold what its archive holds."""


def folder_of(
    path: str, data: bytes, opened: Callable[[str], int], check: Callable[[str, os.stat_result], None]
) -> str:
    """Where the modules of the zip `data`, which lies at `path`, come from: its folder, or the zip."""
    folder = os.path.splitext(path)[0]
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            mark = MARK + os.path.basename(folder)[:16] + "-" + file.read().strip()
        bundles = opened(path)
        try:
            if not os.path.lexists(folder):
                unpack(folder, data, mark)
            inside = os.open(
                os.path.basename(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=bundles
            )
        finally:
            os.close(bundles)
        try:
            return folder if is_trusted(folder, data, inside, mark, check) else path
        finally:
            os.close(inside)
    except OSError:
        return path  # also while somebody else unpacks it


def unpack(folder: str, data: bytes, mark: str) -> None:
    import shutil

    draft = folder + ".draft"
    try:
        os.mkdir(draft, 0o700)
    except FileExistsError:
        if time.time() - os.stat(draft).st_mtime > DRAFT_SECONDS:
            shutil.rmtree(draft, ignore_errors=True)
        raise
    umask = os.umask(0o077)
    try:
        _archive(data).extractall(draft)
        _mark(os.path.join(draft, mark))
        os.rename(draft, folder)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    finally:
        os.umask(umask)


def is_trusted(folder: str, data: bytes, inside: int, mark: str, check: Callable[..., None]) -> bool:
    """Whether the open folder `inside` is the user's alone and holds what the archive holds."""
    import shutil

    status = os.fstat(inside)
    check(folder, status)
    if stat.S_IMODE(status.st_mode) & 0o077:
        return False
    try:
        os.stat(mark, dir_fd=inside, follow_symlinks=False)
        return True
    except FileNotFoundError:
        pass
    if is_whole(folder, data):
        _mark(os.path.join(folder, mark))
        return True
    aside = "%s.%s.draft" % (folder, os.urandom(8).hex())
    os.rename(folder, aside)
    shutil.rmtree(aside, ignore_errors=True)
    return False


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
