"""The rules, found by their files being there."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from allranks.core import Finding

HEADINGS = ("What it looks at", "Why it matters", "What to do", "Source")


@dataclass(frozen=True)
class Rule:
    """One check, as its module describes it."""

    id: str
    module: ModuleType
    check: Callable[[Any], Iterable[Finding]]
    needs: tuple[str, ...]
    applies: Callable[[Any], bool]
    unknown_blocks: bool

    @property
    def page(self) -> str:
        return f"{self.id}\n\n{(self.module.__doc__ or '').strip()}\n"


@functools.cache
def all_rules() -> dict[str, Rule]:
    """Every rule by its id, sorted."""
    found = {}
    package = importlib.import_module("allranks.checks.rules")
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        rule_id = info.name.replace("_", "-")
        found[rule_id] = Rule(
            id=rule_id,
            module=module,
            check=module.check,
            needs=tuple(getattr(module, "NEEDS", ())),
            applies=getattr(module, "applies", _always),
            unknown_blocks=bool(getattr(module, "UNKNOWN_BLOCKS", True)),
        )
    return found


def _always(_context: Any) -> bool:
    return True
