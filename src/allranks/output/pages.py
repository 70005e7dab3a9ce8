"""The pages of `allranks explain ID`, from every room that makes findings. No room is listed by rule."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType


def books() -> list[ModuleType]:
    """The rooms that have pages: each offers `ids()` and `page(id)`."""
    from importlib import import_module

    from allranks import checks, monitor, probe
    from allranks.launch import pages as pages_launch
    from allranks.output import pages_checkpoints
    from allranks.plan import pages as pages_plan
    from allranks.prepare import pages as pages_prepare
    from allranks.runs import keeper_pages
    from allranks.spec import pages as pages_spec

    return [
        checks,
        probe,
        import_module("allranks.diagnose"),
        monitor,
        pages_checkpoints,
        keeper_pages,
        pages_spec,
        pages_plan,
        pages_prepare,
        pages_launch,
    ]


def known() -> dict[str, Callable[[str], str]]:
    """Every id and the function that gives its page; the first room that knows an id has it."""
    found: dict[str, Callable[[str], str]] = {}
    for book in books():
        for name in book.ids():
            found.setdefault(name, book.page)
    return found
