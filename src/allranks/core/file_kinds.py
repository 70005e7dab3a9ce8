"""Which names stand for a file or a folder, and which files are a flight recorder's dumps. Before Python 3.14
`Path.is_file` raises if the name is too long or a folder above may not be entered."""

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


def is_dump(head: bytes) -> bool:
    """Whether a file is a dump of torch's flight recorder, by its first 4 KB: a pickle or JSON with the recorder's
    field names. Many logs begin like JSON."""
    if head[:1] == b"\x80":
        return b"record_id" in head or b"entries" in head or b"pg_config" in head
    return head.lstrip()[:1] in (b"{", b"[") and any(
        word in head for word in (b'"collective_seq_id"', b'"pg_config"', b'"record_id"')
    )
