"""Explain a finding or a cause by its id."""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json, print_json, unknown_id
from allranks.words.errors import BadInput


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="the id in a finding; all ids where it is left out")
    add_json(parser)


def call(options: argparse.Namespace) -> int:
    from allranks.faces.pages import known

    pages = known()
    if options.id is None:
        if options.json:
            print_json({"ids": sorted(pages)})
        else:
            print("\n".join(sorted(pages)))
        return 0
    if options.id not in pages:
        raise BadInput(unknown_id("", options.id, pages))
    text = pages[options.id](options.id).strip()
    if options.json:
        print_json({"id": options.id, "text": text})
    else:
        print(text)
    return 0
