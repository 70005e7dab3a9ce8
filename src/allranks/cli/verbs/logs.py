"""Print the logs of a run's ranks, each line with its node and rank."""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json, add_nodes, positive


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        help="a run's id, the beginning of it, or its run file; default: the newest run",
    )
    parser.add_argument(
        "--rank", type=int, action="append", default=[], help="only this global rank; may be repeated"
    )
    parser.add_argument("--node", action="append", default=[], help="only this node; may be repeated")
    parser.add_argument("-f", "--follow", action="store_true", help="print new lines until the run ends")
    parser.add_argument(
        "--tail", type=positive, metavar="LINES", help="only the last LINES lines of each log"
    )
    parser.add_argument(
        "--grep", metavar="PATTERN", help="only lines in which this regular expression of Python is found"
    )
    parser.add_argument(
        "--noise",
        action="store_true",
        help="also show lines that healthy runs print over and over, such as deprecation warnings of libraries",
    )
    parser.add_argument(
        "--fold",
        action="store_true",
        help="print identical lines of several ranks once, with the ranks that printed them",
    )
    add_json(parser)
    add_nodes(parser)


def call(options: argparse.Namespace) -> int:
    from allranks.cli.log_view import logs_command

    return logs_command(options)
