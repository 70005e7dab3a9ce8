"""Pipes that carry one long line, with a whole environment, to a process that waits."""

from __future__ import annotations

import fcntl

LONGEST_ORDER = 1 << 20
"""The most bytes that any user's pipe may hold (/proc/sys/fs/pipe-max-size); by itself it holds 64 KiB."""

_F_SETPIPE_SZ = 1031
"""Of linux/fcntl.h; Python names it since 3.10."""


def widen(handle: int) -> None:
    """Lets a pipe hold LONGEST_ORDER bytes. If the user's pipes hold as much as they may, it stays as it is: a line
    that is longer does not fit."""
    try:
        fcntl.fcntl(handle, _F_SETPIPE_SZ, LONGEST_ORDER)
    except OSError:
        pass
