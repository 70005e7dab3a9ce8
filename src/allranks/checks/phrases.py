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


def listed(items: Iterable[Any], most: int = 8) -> str:
    """`a, b, c and 5 more`."""
    words = [str(item) for item in items]
    if len(words) <= most:
        return ", ".join(words)
    return ", ".join(words[:most]) + f" and {len(words) - most} more"
