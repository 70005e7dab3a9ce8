"""The rules, found by their files being there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from allranks.core import Finding
from allranks.core.rules import modules


@dataclass(frozen=True)
class Rule:
    """One check, as its module describes it."""

    id: str
    module: ModuleType
    check: Callable[[Any], Iterable[Finding]]
    needs: tuple[str, ...]
    applies: Callable[[Any], bool]
    unknown_blocks: bool


@functools.cache
def all_rules() -> dict[str, Rule]:
    """Every rule by its id, sorted."""
    return {
        rule_id: Rule(
            id=rule_id,
            module=module,
            check=module.check,
            needs=tuple(getattr(module, "NEEDS", ())),
            applies=getattr(module, "applies", lambda context: True),
            unknown_blocks=bool(getattr(module, "UNKNOWN_BLOCKS", True)),
        )
        for rule_id, module in modules("allranks.checks.rules").items()
    }
