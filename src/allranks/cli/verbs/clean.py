"""Remove what ended runs left: processes, temporary files, and with --files their folders.

It shows what it would remove and asks. What is not surely ours is listed and left.
"""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json, agreed, print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        help="a run's id, the beginning of it, or its run file; all ended runs where it is left out",
    )
    add_json(parser)
    parser.add_argument(
        "--files", action="store_true", help="the run directories, too: logs, journal, report, adapter"
    )
    parser.add_argument("-n", "--dry-run", action="store_true", help="show it; remove nothing")
    parser.add_argument("-y", "--yes", action="store_true", help="ask nothing")


def call(options: argparse.Namespace) -> int:
    import asyncio

    from allranks.faces.clean import clean
    from allranks.runs.ending import leftovers, tidy

    found = asyncio.run(leftovers(options.run, files=options.files))
    if not options.json:
        for line in found.lines():
            print(clean(line))
    if options.dry_run or not found.runs:
        if options.json:
            print_json(found.as_json())
        return 0
    if not agreed("remove it?", options.yes):
        return 1
    done = asyncio.run(tidy(found))
    if options.json:
        print_json(done)
    return 0
