"""The pages of `allranks explain ID`, from every room that makes findings. Rooms offer their pages themselves; no
rule is listed here."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from allranks.core.pages import TOPICS, Page, PageError


def books() -> list[ModuleType]:
    """The rooms that have pages. Each offers `ids()` and `page(id)`, which is None for an id of another room."""
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


@cache
def known() -> dict[str, Page]:
    """The page of every id. Raises PageError if two rooms have a page for the same id."""
    found: dict[str, Page] = {}
    for book in books():
        for name in book.ids():
            page = book.page(name)
            if page is not None and name in found:
                raise PageError(f"{name}: a second page, in {book.__name__}")
            if page is not None:
                found[name] = page
    return found


def by_topic() -> dict[str, list[Page]]:
    """The pages of each topic, by its title, in the order of the topics and of the ids."""
    pages = sorted(known().values(), key=lambda page: page.id)
    found = {title: [page for page in pages if page.topic == topic] for topic, title in TOPICS.items()}
    return {title: group for title, group in found.items() if group}
