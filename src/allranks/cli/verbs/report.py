"""Write a run's report, one HTML file that needs no network."""

from __future__ import annotations

import argparse
from pathlib import Path

from allranks.cli.common import add_json, print_json, require_writable


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        help="a run's id, the beginning of it, or its run file; the newest where it is left out",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to write it; the run directory by default"
    )
    add_json(parser)


def call(options: argparse.Namespace) -> int:
    import asyncio

    from allranks.faces import report
    from allranks.node.paths import RunDirectory
    from allranks.runs.index import find

    directory = RunDirectory(asyncio.run(find(options.run)))
    data = report.collect(directory.root)
    path = Path(options.output or directory.keeper.report)
    page = report.render(data)
    require_writable(path, lambda path: path.write_text(page, encoding="utf-8"))
    if options.json:
        print_json({"id": directory.run_id, "report": str(path)})
    else:
        print(path)
    return 0
