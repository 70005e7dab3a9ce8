"""Explain a finding or a cause by its id."""

from __future__ import annotations

import argparse
import difflib

from allranks.words import BadInput, Problem


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="the id in a finding; all ids where it is left out")


def call(options: argparse.Namespace) -> int:
    from allranks import checks, diagnose
    from allranks.faces import pages

    known = {**{i: checks.page for i in checks.ids()}, **{i: diagnose.page for i in diagnose.ids()}}
    known.update({i: pages.page for i in pages.ids() if i not in known})
    if options.id is None:
        print("\n".join(sorted(known)))
        return 0
    if options.id not in known:
        near = difflib.get_close_matches(options.id, known, n=3)
        raise BadInput(
            Problem(
                f"{options.id} is no id of a finding",
                do="nearest: " + ", ".join(near) if near else "allranks explain lists all ids",
            )
        )
    print(known[options.id](options.id).strip())
    return 0
