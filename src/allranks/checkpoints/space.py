"""Says whether the next save fits on its disk."""

from __future__ import annotations

import os

from allranks.checkpoints.catalogue import found
from allranks.core import Finding

RESERVE = 1.1
"""A tenth more than planned: file systems round up, write the new save before the old one goes, and keep
tables of their own."""


def space(path: str, planned_bytes: int) -> Finding:
    """Judges the free space below `path` (it need not exist yet) against the bytes of the next save.

    Reads what a user without root's reserve may take (`f_bavail`). A quota is not visible here.
    """
    where = os.path.abspath(path)
    while not os.path.isdir(where) and os.path.dirname(where) != where:
        where = os.path.dirname(where)
    try:
        disk = os.statvfs(where)
    except OSError as error:
        return found("save-space-unknown", path, "statvfs: %s" % error.strerror)
    free = disk.f_bavail * disk.f_frsize
    saw = "{:,.1f} MiB free".format(free / 2**20)
    expected = "{:,.1f} MiB for the next save".format(planned_bytes / 2**20)
    if disk.f_files and disk.f_favail == 0:
        return found("save-space-low", path, "no inode is free", expected)
    if free < planned_bytes * RESERVE:
        return found("save-space-low", path, saw, expected)
    return found("save-space", path, saw, expected)


def bytes_of(checkpoint: str) -> int:
    """The bytes of the files of a checkpoint: the next one will be as large."""
    return sum(
        os.lstat(os.path.join(here, name)).st_size for here, _, files in os.walk(checkpoint) for name in files
    )
