"""Explain a finding or a cause by its id."""

from __future__ import annotations

import argparse
import difflib

from allranks.words import BadInput, Problem


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="the id in a finding; all ids where it is left out")


def call(options: argparse.Namespace) -> int:
    from allranks.faces.pages import known

    pages = known()
    if options.id is None:
        print("\n".join(sorted(pages)))
        return 0
    if options.id not in pages:
        near = difflib.get_close_matches(options.id, pages, n=3)
        do = "nearest: " + ", ".join(near) if near else "allranks explain lists all ids"
        raise BadInput(Problem(f"{options.id} is no id of a finding", do=do))
    print(pages[options.id](options.id).strip())
    return 0
