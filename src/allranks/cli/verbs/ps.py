"""List the runs, newest first."""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json, add_nodes, print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    add_nodes(parser)
    parser.add_argument("-a", "--all", action="store_true", help="also runs that ended more than a week ago")


WEEK_SECONDS = 7 * 24 * 3600
KEYS = ("id", "name", "state", "nodes", "step", "adapter", "findings", "directory")


def call(options: argparse.Namespace) -> int:
    import asyncio
    import time

    from allranks.output.table import print_runs
    from allranks.runs.index import all_runs

    runs = asyncio.run(all_runs())
    since = time.time() - WEEK_SECONDS
    if not options.all:
        runs = [run for run in runs if not run.get("ended_at") or run["ended_at"] > since]
    if options.json:
        print_json({"runs": [{**run, **{key: run.get(key) for key in KEYS}} for run in runs]})
    else:
        print_runs(runs)
    return 0
