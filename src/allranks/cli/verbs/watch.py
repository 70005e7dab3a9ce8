"""Follow a run until it ends; Ctrl-C stops following, not the run."""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json, add_nodes


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        help="a run's id, the beginning of it, or its run file; the newest where it is left out",
    )
    add_json(parser)
    add_nodes(parser)


def call(options: argparse.Namespace) -> int:
    from allranks.cli.run_verbs import watch_command

    return watch_command(options)
