"""Stop a run: every process of it, and nothing else."""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json, agreed, print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="a run's id or the beginning of it")
    add_json(parser)
    parser.add_argument(
        "-n", "--dry-run", action="store_true", help="list what would be stopped; stop nothing"
    )
    parser.add_argument("-y", "--yes", action="store_true", help="ask nothing")


def call(options: argparse.Namespace) -> int:
    import asyncio

    from allranks.faces.clean import clean
    from allranks.runs.ending import stop, sweep
    from allranks.runs.index import find

    run_id = asyncio.run(find(options.run))
    if options.dry_run:
        found = asyncio.run(sweep(run_id, dry_run=True))
        if options.json:
            print_json({"id": run_id, "nodes": found})
        else:
            for line in describe(found):
                print(clean(line))
        return 0
    if not agreed(f"stop {run_id}?", options.yes or options.json):
        return 1
    result = asyncio.run(stop(run_id))
    if options.json:
        print_json(result)
    else:
        print(f"{run_id} {result['state']}: {result['left']} of its processes are left")
    return 0 if result["left"] == 0 else 1


def describe(found) -> list[str]:
    """One line a process that would be stopped."""
    lines = []
    for node in found:
        for process in node.get("processes", ()):
            lines.append(
                f"{node['node']}  pid {process['pid']}  {process.get('name', '')}  {process.get('why', '')}"
            )
    return lines or ["nothing of this run is left on any node"]
