"""Show all runs that have not ended, with their nodes, until Ctrl-C; it changes nothing.

In a pipe, or with --once, it shows them once. --json prints one document and ends.
"""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json, add_nodes


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="a run's id; all that have not ended if none is named"
    )
    parser.add_argument("--once", action="store_true", help="show them once, and end")
    add_json(parser)
    add_nodes(parser)


def call(options: argparse.Namespace) -> int:
    from allranks.cli.top_view import top_command

    return top_command(options)
