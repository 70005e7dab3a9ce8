"""Explain findings or causes by their ids."""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json, print_json, unknown_id
from allranks.core.errors import BadInput


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ids", metavar="ID", nargs="*", help="the id in a finding; without one, all ids are listed"
    )
    add_json(parser)


def call(options: argparse.Namespace) -> int:
    from allranks.output.pages import known

    pages = known()
    if not options.ids:
        if options.json:
            print_json({"ids": sorted(pages)})
        else:
            print("\n".join(sorted(pages)))
        return 0
    wanted = list(dict.fromkeys(options.ids))
    unknown = [unknown_id("", name, pages) for name in wanted if name not in pages]
    if unknown:
        raise BadInput(unknown)
    texts = {name: pages[name](name).strip() for name in wanted}
    if options.json:
        told = [{"id": name, "text": text} for name, text in texts.items()]
        print_json(told[0] if len(told) == 1 else {"pages": told})
    else:
        titled = [text if text.startswith(name) else f"{name}\n\n{text}" for name, text in texts.items()]
        print("\n\n\n".join(titled))
    return 0
