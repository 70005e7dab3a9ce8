"""The pages of the findings that `checkpoints` makes, from its table."""

from __future__ import annotations

from allranks.checkpoints import CATALOGUE


def ids() -> list[str]:
    return sorted(CATALOGUE)


def page(name: str) -> str:
    """One finding's page. Raises KeyError for an unknown id."""
    kind = CATALOGUE[name]
    return f"{kind.title}\n\nWhy it matters\n  {kind.why}\n\nWhat to do\n  {kind.fix}\n"
