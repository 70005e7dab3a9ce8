"""Compare two runs: the settings that differ, the loss, the speed, and a verdict.

allranks reads a run on another machine from its head. Exit code 0 if the comparison could be made, 3 if neither
the losses nor the step times of both runs are known.
"""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json, print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    compare = kinds.add_parser("compare", help="settings that differ, loss, speed, and a verdict")
    for name in ("A", "B"):
        compare.add_argument(
            name.lower(), metavar=name, help="a run's id, the beginning of it, or its run file"
        )
    add_json(compare)


def call(options: argparse.Namespace) -> int:
    import asyncio

    from allranks.core import BadInput, Problem
    from allranks.output import report
    from allranks.output.comparison_table import print_comparison
    from allranks.output.run_comparison import compared
    from allranks.runs.index import find
    from allranks.runs.run_copy import record_of

    async def collected(name: str):
        run_id = await find(name)
        async with record_of(run_id) as folder:
            return run_id, report.collect(folder)

    async def both():
        return await collected(options.a), await collected(options.b)

    (a, told_a), (b, told_b) = asyncio.run(both())
    if a == b:
        raise BadInput(
            Problem(f"{options.a} and {options.b} are one run: {a}", do="allranks ps lists the runs")
        )
    found = compared(told_a, told_b, (a, b))
    if options.json:
        print_json(found.as_json())
    else:
        print_comparison(found)
    return 0 if found.is_known else 3
