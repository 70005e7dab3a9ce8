"""Write the report of a run, or of an adapter's folder: one HTML file that needs no network.

A folder may have been copied far away from its run: it is verified, and the page shows what its own files say.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from allranks.cli.common import add_json, add_nodes, print_json, require_writable


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        metavar="RUN|PATH",
        help="a run's id, the beginning of it, or its run file; or the folder of an adapter or another checkpoint. "
        "Default: the newest run",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to write it; by default the run directory, RUN.html here if the run is on another machine, or "
        "FOLDER-report.html here",
    )
    add_json(parser)
    add_nodes(parser)


def call(options: argparse.Namespace) -> int:
    import asyncio

    from allranks.cli.adapter_report import folder_of, report_folder
    from allranks.node.paths import RunDirectory
    from allranks.output import report
    from allranks.runs.index import find

    folder = folder_of(options.run)
    if folder is not None:
        return report_folder(folder, options)
    directory = RunDirectory(asyncio.run(find(options.run)))
    if Path(directory.marker).is_file():
        page, place = report.render(report.collect(directory.root)), directory.keeper.report
    else:
        page, place = asyncio.run(of_head(directory.run_id)), f"{directory.run_id}.html"
    path = Path(options.output or place)
    require_writable(path, lambda path: path.write_text(page, encoding="utf-8"))
    if options.json:
        print_json({"id": directory.run_id, "report": str(path)})
    else:
        print(path)
    return 0


async def of_head(run_id: str) -> str:
    """The page that the keeper wrote on the run's head. Raises BadInput if there is none."""
    from allranks.core import BadInput, Problem
    from allranks.runs.index import connected_head
    from allranks.runs.run_copy import pieces
    from allranks.transport import ProgramFailed, Unreachable

    async with connected_head(run_id) as head:
        try:
            return "".join([part async for part in pieces(head, run_id, "keeper/report.html")])
        except (ProgramFailed, Unreachable) as error:
            problem = Problem(
                f"{head.node} gave no report of {run_id}: {error}",
                do=f"allranks ps shows whether {run_id} has ended",
            )
            raise BadInput(problem) from error
