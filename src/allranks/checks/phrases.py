"""How a finding writes numbers, lists and what other people's programs said."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from allranks.core import Finding
from allranks.core.text import printable

MOST = 2000
"""Characters of one text of a finding."""


def harmless(finding: Finding, rule_id: str) -> Finding:
    """A rule's finding under the rule's own id, with what nodes said made harmless to a terminal."""
    texts = {name: printable(getattr(finding, name), MOST) for name in ("saw", "expected", "why", "fix")}
    evidence = tuple(printable(line, MOST) for line in finding.evidence)
    return dataclasses.replace(finding, id=rule_id, evidence=evidence, **texts)


def gib(count: float) -> str:
    """Bytes as people read them: 512 MiB, 16.0 GiB, 1.22 TiB."""
    for unit, size in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(count) >= size:
            value = count / size
            return f"{value:.2f} {unit}" if value < 10 else f"{value:,.1f} {unit}"
    return f"{int(count)} bytes"


def listed(items: Iterable[Any], most: int = 8) -> str:
    """`a, b, c and 5 more`."""
    words = [str(item) for item in items]
    if len(words) <= most:
        return ", ".join(words)
    return ", ".join(words[:most]) + f" and {len(words) - most} more"


def duration(seconds: float) -> str:
    """`14 h`, `3 min`, `2.5 s`."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.3g} s"
