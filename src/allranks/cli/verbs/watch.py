"""Follow a run until it ends; Ctrl-C ends only the view, not the run."""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json, add_nodes


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        help="a run's id, the beginning of it, or its run file; default: the newest run",
    )
    add_json(parser)
    add_nodes(parser)


def call(options: argparse.Namespace) -> int:
    from allranks.cli.run_verbs import watch_command

    return watch_command(options)
