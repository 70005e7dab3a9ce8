"""Whether a name stands for a file or a folder. Before Python 3.14 `Path.is_file` raises if the name is too long or a
folder above may not be entered."""

from __future__ import annotations

import os
import stat


def mode_of(name: str) -> int:
    """0 if there is nothing of this name, or if it cannot be seen."""
    try:
        return os.stat(name).st_mode
    except (OSError, ValueError):
        return 0


def is_file(name: str) -> bool:
    return stat.S_ISREG(mode_of(name))


def is_folder(name: str) -> bool:
    return stat.S_ISDIR(mode_of(name))
