"""Version numbers compared as numbers."""

from __future__ import annotations

import re
from typing import Any


def parts(version: Any) -> tuple[int, ...] | None:
    """`535.161.08` → (535, 161, 8); `2.13.0+cpu` → (2, 13, 0); None for what begins with no number."""
    match = re.match(r"\s*v?(\d+(?:\.\d+)*)", str(version)) if isinstance(version, str) else None
    return tuple(int(part) for part in match.group(1).split(".")) if match else None


def branch(version: Any) -> int | None:
    """The driver's branch: 535 of `535.161.08`."""
    found = parts(version)
    return found[0] if found else None


def at_least(version: Any, least: tuple[int, ...]) -> bool | None:
    """None where the version cannot be read. Missing parts count as 0."""
    found = parts(version)
    if found is None:
        return None
    length = max(len(found), len(least))
    return found + (0,) * (length - len(found)) >= least + (0,) * (length - len(least))
