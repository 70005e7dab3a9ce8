"""Name the cause of a failed run from its logs, without nodes.

PATH is a log, a folder of logs, or the id of a run known here. Exit code 1 where a cause is named, 0
where nothing is wrong, 3 where the logs prove nothing.
"""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="logs, folders of logs, or a run's id; - is standard input"
    )
    add_json(parser)


def call(options: argparse.Namespace) -> int:
    from allranks.cli.diagnose_verb import diagnose_command

    return diagnose_command(options)
