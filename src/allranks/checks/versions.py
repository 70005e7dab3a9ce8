"""Version numbers compared as numbers."""

from __future__ import annotations

from typing import Any

from allranks.plan.versions import parse


def branch(version: Any) -> int | None:
    """The driver's branch: 535 of `535.161.08`."""
    found = parse(version)
    return found[0] if found else None


def at_least(version: Any, least: tuple[int, ...]) -> bool | None:
    """None if the version cannot be read. Missing parts count as 0."""
    found = parse(version)
    if found is None:
        return None
    length = max(len(found), len(least))
    return found + (0,) * (length - len(found)) >= least + (0,) * (length - len(least))
