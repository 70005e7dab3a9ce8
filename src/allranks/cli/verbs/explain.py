"""Explain findings and causes by their ids; without an id, list all of them by topic."""

from __future__ import annotations

import argparse
import shutil
import sys

from allranks.cli.common import add_json, print_json, unknown_id
from allranks.core.errors import BadInput
from allranks.core.pages import HEADINGS, Page

WIDEST = 100
"""The most columns: longer lines of prose are hard to read."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ids", metavar="ID", nargs="*", help="the id of a finding; without one, all ids are listed"
    )
    add_json(parser)


def call(options: argparse.Namespace) -> int:
    from allranks.output.pages import known

    pages = known()
    if not options.ids:
        return list_all(options.json)
    wanted = list(dict.fromkeys(options.ids))
    unknown = [unknown_id("", name, pages) for name in wanted if name not in pages]
    if unknown:
        raise BadInput(unknown)
    if options.json:
        told = [as_json(pages[name]) for name in wanted]
        print_json(told[0] if len(told) == 1 else {"pages": told})
    else:
        print("\n\n\n".join(shown(pages[name]) for name in wanted))
    return 0


def as_json(page: Page) -> dict[str, object]:
    """One page for programs; `text` is its Markdown."""
    return {
        "id": page.id,
        "topic": page.topic,
        "title": page.title,
        "sections": page.sections,
        "text": page.markdown(),
    }


def shown(page: Page) -> str:
    """One page, as wide as the terminal. Its id and headings are bold there."""
    text = page.text(min(shutil.get_terminal_size((88, 24)).columns, WIDEST)).rstrip()
    if not sys.stdout.isatty():
        return text
    heads = {page.id, *HEADINGS}
    return "\n".join(f"\033[1m{line}\033[0m" if line in heads else line for line in text.split("\n"))


def list_all(as_json: bool) -> int:
    """The catalogue: each topic, followed by one line for each id."""
    from allranks.output.pages import by_topic, known

    topics = by_topic()
    if as_json:
        listed = {title: {page.id: page.title for page in pages} for title, pages in topics.items()}
        print_json({"ids": sorted(known()), "topics": listed})
        return 0
    width = max(len(name) for name in known())
    blocks = [
        "\n".join([f"{title}:", *(f"  {page.id:{width}}  {page.title}" for page in pages)])
        for title, pages in topics.items()
    ]
    print("\n\n".join([*blocks, "allranks explain ID… prints a page."]))
    return 0
