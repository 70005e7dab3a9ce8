"""Run ids: short enough to type, random enough not to collide, safe as a folder's name."""

from __future__ import annotations

import re
import secrets
import time

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without i, l, o, 0 and 1, which are easily confused."""


def new_run_id(name: str) -> str:
    """`<name>-<month and day>-<four letters>`: 31^4 = 923,521 ids per name and day."""
    stem = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")[:40] or "run"
    tail = "".join(secrets.choice(ALPHABET) for _ in range(4))
    return f"{stem}-{time.strftime('%m%d')}-{tail}"
