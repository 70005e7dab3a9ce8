"""The rules, found by their files being there.

A rule is a module of `rules/` with a docstring (the page of `allranks explain ID`, under the headings of the
checks) and `check(context)`, which yields findings without their id. Its cases are in `tests/probe/cases/`.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from allranks.core import Finding


@dataclass(frozen=True)
class Rule:
    id: str
    module: ModuleType
    check: Callable[[Any], Iterable[Finding]]


@functools.cache
def all_rules() -> dict[str, Rule]:
    """Every rule by its id, sorted."""
    package = importlib.import_module("allranks.probe.rules")
    found = {}
    for name in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        module = importlib.import_module(f"{package.__name__}.{name}")
        rule_id = name.replace("_", "-")
        found[rule_id] = Rule(rule_id, module, module.check)
    return found


def ids() -> list[str]:
    return list(all_rules())


def page(rule_id: str) -> str:
    """What `allranks explain` prints. KeyError where there is none of that id."""
    return f"{rule_id}\n\n{(all_rules()[rule_id].module.__doc__ or '').strip()}\n"
