"""The pages of the findings that `checkpoints` makes, from its table."""

from __future__ import annotations

from allranks.checkpoints import CATALOGUE
from allranks.checkpoints.catalogue import page

__all__ = ["ids", "page"]


def ids() -> list[str]:
    return sorted(CATALOGUE)
