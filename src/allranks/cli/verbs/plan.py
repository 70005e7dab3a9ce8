"""Say what will run and what it costs, without nodes and without weights."""

from __future__ import annotations

import argparse

from allranks.cli.common import add_file, add_json, print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    add_file(parser)
    add_json(parser)


def call(options: argparse.Namespace) -> int:
    from allranks import spec
    from allranks.faces.plan import print_plan
    from allranks.runs.inspect import planned, verdict_code

    run = spec.load(options.file, sets=options.sets, accept=options.accept)
    plan = planned(run)
    findings = [*run.notes, *plan.findings]
    if options.json:
        print_json({**plan.as_json(), "findings": [f.as_json() for f in findings]})
    else:
        print_plan(run, plan, findings)
    return verdict_code([f for f in findings if f.verdict == "block" and f.id not in run.accept])
