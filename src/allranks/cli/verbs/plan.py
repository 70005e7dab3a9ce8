"""Plan a run: memory, time and cost, without nodes and without weights.

Exit code 1 if there is an error, 3 if something is unknown, such as the model that the run file names. A script of
your own may train any model: if its arguments name none, the plan says so, and the code is 0.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allranks.cli.common import add_file, add_json, load_run, positive, print_json
from allranks.spec.launchers import names

if TYPE_CHECKING:
    from allranks.plan import Plan
    from allranks.spec import Run


TAKES_COMMAND = True
"""The training command comes after `--`, in place of a run file."""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_file(parser)
    add_json(parser)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show the reason for each value, and the rejected alternatives with their reasons",
    )
    parser.add_argument(
        "--samples",
        type=positive,
        metavar="N",
        help="the number of samples, if the data set's files are not here",
    )
    parser.add_argument(
        "--price", type=price, metavar="X", help="the price of a GPU hour: the plan then shows the run's cost"
    )
    parser.add_argument(
        "--probe",
        metavar="JSON",
        help="the output of allranks probe FILE --json: the plan uses its bandwidths",
    )
    parser.add_argument(
        "--render",
        choices=names(),
        help="write files that start the run without allranks, for a launcher or another tool",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="the folder that --render writes, new or empty")


def price(text: str) -> float:
    """A number above 0, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a price")
    return value


def call(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from allranks.core import BadInput, Problem
    from allranks.output.plan import print_plan
    from allranks.runs.inspection import planned, read_object, verdict_code
    from allranks.runs.local_inputs import script_findings
    from allranks.spec import LEAF

    run = load_run(options)
    probe = read_object(options.probe) if options.probe else None
    if options.probe and probe is None:
        raise BadInput(
            Problem(f"{options.probe} is not a readable JSON object.", do="allranks probe FILE --json > JSON")
        )
    goes = run
    if (
        options.render
    ):  # the scripts have neither experts in lockstep nor the loader that reads a rank's own bytes
        stock = replace(run.environment, loader="stock")
        goes = replace(run, train=replace(run.train, experts=LEAF), environment=stock)
    plan = planned(goes, samples=options.samples, price=options.price, probe=probe)
    findings = [*run.notes, *plan.findings, *script_findings(run)]
    code = verdict_code(findings, run.accept)
    document = {**plan.as_json(), "findings": [f.as_json() for f in findings]}
    written = rendered(options, run, plan) if (options.render or options.output) and code != 1 else None
    if options.json:
        print_json({**document, "rendered": written} if options.render else document)
        return code
    print_plan(run, plan, findings, options.explain)
    if written is not None:
        print(f"Wrote {len(written['files'])} files to {options.output}: begin with its README.md.")
    elif options.render:
        print("Nothing was written: this plan has an error. --accept ID ignores it.")
    return code


def rendered(options: argparse.Namespace, run: Run, plan: Plan) -> dict[str, Any]:
    """Writes the scripts and returns a list of them."""
    from allranks.core import BadInput, Problem
    from allranks.launch import scripts
    from allranks.launch.scripts import write
    from allranks.runs.inspection import python_of

    if not options.render or not options.output:
        raise BadInput(
            Problem("--render and -o go together.", do="plan FILE --render TARGET -o DIR, with both of them")
        )
    if run.environment.conda:
        do = "environment: {python: /path/of/it/bin/python}"
        why = "the files name the Python by its path, and no node is asked for it."
        raise run.refuse("environment.conda", "--render with environment.conda", why, do)
    files = scripts.render(options.render, run, plan, python_of(run))
    write(files, Path(options.output))
    return {"target": options.render, "directory": options.output, "files": sorted(files)}
