"""The rules: every module of `rules/` is one.

It has a docstring (the page of `allranks explain ID`: `core/pages.py`) and `check(context)`, which yields findings
without their id. Its cases are in `tests/probe/cases/`.
"""

from __future__ import annotations

from types import ModuleType

from allranks.core.pages import Page
from allranks.core.rules import modules, page_of


def all_rules() -> dict[str, ModuleType]:
    """Every rule by its id, sorted."""
    return modules("allranks.probe.rules")


def ids() -> list[str]:
    return list(all_rules())


def page(rule_id: str) -> Page | None:
    """The page of a rule. KeyError if there is none of that id."""
    return page_of(rule_id, all_rules()[rule_id])
