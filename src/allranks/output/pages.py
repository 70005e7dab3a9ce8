"""The pages of `allranks explain ID`, from every room that makes findings. No room is listed by rule."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
    """Every id and the function that gives its page: of all rooms that know the id, each text once."""
    found: dict[str, list[Callable[[str], str]]] = {}
    for book in books():
        for name in book.ids():
            found.setdefault(name, []).append(book.page)
    return {name: partial(joined, pages) for name, pages in found.items()}


def joined(pages: list[Callable[[str], str]], name: str) -> str:
    """The pages of one id. A check and a cause may have one name, for what they look at is the same."""
    return "\n\n".join(dict.fromkeys(page(name).strip() for page in pages))
