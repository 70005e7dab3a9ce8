"""What a rule says in its cases, kept as text: `tests/<room>/said/<rule>.txt` has each line that it says there once.

A change of a rule, or of what all rules share, so shows what people will read: a number, a place, a plural, a fix.
`ALLRANKS_GOLDEN=write pytest tests/<room>` writes the files again; review the difference as you review the code.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from allranks.core import Diagnosis, Finding

ROOT = str(Path(__file__).resolve().parents[1])
WRITTEN: dict[Path, set[str]] = {}
"""What this process has written: a rule's cases may be several tests."""


def lines(said: Iterable[Finding | Diagnosis]) -> Iterator[str]:
    """A line for each text of a statement; the first says what it is about."""
    for one in said:
        if isinstance(one, Finding):
            yield f"{one.id}: {one.verdict} | {one.where}"
            texts = {"saw": one.saw, "expected": one.expected}
        else:
            yield f"{one.cause}: {one.confidence} | {one.where} | {one.first_seen}"
            texts = {"collateral": ", ".join(map(str, one.collateral))}
        texts |= {"why": one.why, "fix": one.fix}
        yield from (f"  {name}: {text}" for name, text in texts.items() if text)
        yield from (f"  evidence: {text}" for text in one.evidence)


def flat(value: Any, place: str = "") -> Iterator[str]:
    """A line for each value of a tree, with its place; ten digits of a fraction, so that each processor agrees."""
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, (list, tuple))
        else None
    )
    if pairs is None:
        yield f"{place} = {value:.10g}" if isinstance(value, float) else f"{place} = {value!r}"
        return
    for key, inner in pairs:
        yield from flat(inner, f"{place}.{key}" if place else str(key))


def hold(path: Path, told: Iterable[str]) -> None:
    """Fails if a line is not in the file, with all such lines and the command that writes them."""
    new = unknown(path, told)
    if new:
        name = path.relative_to(ROOT)
        room = name.parent.parent
        pytest.fail(
            f"{name} {'does not have these lines' if path.exists() else 'is missing. It would have these lines'}:\n"
            + "".join(f"    {line}\n" for line in new)
            + f"Read them as a user would. If they are right: ALLRANKS_GOLDEN=write python -m pytest {room}",
            pytrace=False,
        )


def unknown(path: Path, told: Iterable[str]) -> list[str]:
    """The lines that the file does not have. `ALLRANKS_GOLDEN=write` puts them there, and leaves out what nothing in
    this process said."""
    found = {line.replace(ROOT, "").replace("\n", "\\n").rstrip() for line in told}
    if os.environ.get("ALLRANKS_GOLDEN") == "write":
        if "PYTEST_XDIST_WORKER" in os.environ:  # each worker would leave out what the others say
            pytest.exit("ALLRANKS_GOLDEN=write needs one process: leave out -n", 2)
        WRITTEN.setdefault(path, set()).update(found)
        if WRITTEN[path]:
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in sorted(WRITTEN[path])), encoding="utf-8")
        return []
    known = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    return sorted(found.difference(known))
