"""Whether the files of a run's keeper can still grow: a journal that has stopped looks like a run with nothing to say.

The keeper itself cannot write that down, so readers of the files ask here.
"""

from __future__ import annotations

import os

from allranks.node.paths import RunDirectory

LINE_BYTES = 4096
"""Less room than this takes no more lines: file systems give room in blocks."""


def why_unwritten(directory: RunDirectory) -> str:
    """Why nothing more can be written there, in words; empty if it can, or if that is unknown."""
    folder = os.path.dirname(directory.keeper.journal)
    try:
        seen = os.statvfs(folder)
        there = os.path.exists(directory.keeper.journal)
    except FileNotFoundError:
        return f"the folder {folder} is gone"
    except OSError:
        return ""
    # Only root can use the blocks that are reserved for root.
    blocks = seen.f_bfree if os.geteuid() == 0 else seen.f_bavail
    if seen.f_blocks and blocks * seen.f_frsize < LINE_BYTES:
        return f"the disk of {folder} is full"
    if seen.f_files and seen.f_ffree == 0 and not there:
        return f"the disk of {folder} takes no more files"
    return ""
