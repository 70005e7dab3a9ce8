"""Check every node, and report what would break a run.

Exit code 1 if there is an error, 3 if a node or a fact could not be read, or a part of the result is unknown.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allranks.cli.common import (
    add_file,
    add_hosts,
    add_json,
    load_run,
    print_json,
    require_ids,
    require_writable,
)
from allranks.node.files import write_text

if TYPE_CHECKING:
    from allranks.checks import Standing
    from allranks.core import Facts, Finding
    from allranks.output.check import Checked
    from allranks.runs.inspection import Inspection
    from allranks.runs.silent_nodes import Late
    from allranks.spec import Run


TAKES_COMMAND = True
"""The training command comes after `--`, in place of a run file."""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_file(parser)
    add_json(parser)
    add_hosts(parser)
    parser.add_argument(
        "--facts", metavar="DIR", help="judge recorded facts (DIR/<node>.json) without any node"
    )
    parser.add_argument("--save-facts", metavar="DIR", help="record the facts of each node in DIR")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="ID",
        help="show only this check's findings; may be repeated",
    )
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="ID",
        help="leave this check's findings out; may be repeated",
    )
    parser.add_argument("--passing", metavar="FILE", help="write the nodes that are ready as a hostfile")
    parser.add_argument(
        "--failing", metavar="FILE", help="write the other nodes as a hostfile, with the reasons"
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also show what happens to each setting, and the checks that passed",
    )


def call(options: argparse.Namespace) -> int:
    import asyncio

    from allranks.output.check import as_json, print_check, waiting
    from allranks.runs.inspection import judge, verdict_code, without_effect

    require_ids("--only", options.only)
    require_ids("--skip", options.skip)
    run = load_run(options)
    began = time.monotonic()
    if options.facts:
        inspection = judge(run, recorded(run, options.facts))
        inspection = replace(inspection, findings=(*without_effect(run), *inspection.findings))
    else:
        with waiting(run, quiet=options.json) as late:
            inspection = asyncio.run(looked_at(run, late, options.accept_new_hosts))
    seconds = None if options.facts else time.monotonic() - began
    if options.save_facts:
        save(inspection, options.save_facts)
    checked = summed_up(inspection, options, seconds)
    write_hostfiles(checked, options)
    if options.json:
        print_json(as_json(checked))
    else:
        print_check(checked)
    return verdict_code(checked.findings, run.accept)


def summed_up(inspection: Inspection, options: argparse.Namespace, seconds: float | None) -> Checked:
    """The requested findings, the standing of each node, and the settings line by line."""
    from allranks import checks
    from allranks.core import OK
    from allranks.output.check import Checked

    def wanted(name: str) -> bool:
        return name not in options.skip and name in (options.only or [name])

    about = (inspection.facts, inspection.plan, inspection.run)
    shown: list[Finding] = [f for f in inspection.findings if wanted(f.id)]
    hidden = {f.id for f in inspection.findings if f.verdict != OK and not wanted(f.id)}
    return Checked(
        findings=shown,
        standings=checks.standings(*about, shown),
        applying=[name for name in checks.applying(*about) if wanted(name)],
        settings=checks.settings(*about) if options.verbose or options.json else (),
        seconds=seconds,
        verbose=options.verbose,
        hidden=sorted(hidden),
        narrowed=bool(options.only or options.skip),
        accept=inspection.run.accept,
    )


async def looked_at(run: Run, late: Late, accept_new_hosts: bool) -> Inspection:
    from allranks.runs.allocation import looking
    from allranks.runs.inspection import inspect

    found = await looking(run, accept_new_hosts)
    try:
        return await inspect(found.nodes, found.run, late)
    finally:
        await found.nodes.close()


def recorded(run: Run, folder: str) -> list[Facts]:
    """The facts in DIR/<node>.json. A node without a file is unreadable, which gives a verdict and not an error."""
    from allranks.core import Facts
    from allranks.runs.inspection import facts_of

    found = []
    for node in run.cluster.nodes:
        path = Path(folder) / f"{node.name}.json"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(data, dict):
                raise ValueError("it is not a JSON object")
            found.append(facts_of(node.name, data))
        except (OSError, ValueError) as error:
            found.append(Facts(node.name, 0.0, {}, {"node": f"{path}: {error}"}))
    return found


def save(inspection: Inspection, folder: str) -> None:
    require_writable(folder, lambda path: path.mkdir(parents=True, exist_ok=True))
    for facts in inspection.facts:
        path = Path(folder) / f"{facts.node}.json"
        text = json.dumps(masked(facts.as_json()), indent=2, sort_keys=True) + "\n"
        require_writable(path, lambda path, text=text: write_text(str(path), text))


def masked(value: Any) -> Any:
    """Facts hold the text of scripts and JSON files, and people send them to others: no access token goes along."""
    from allranks.core.secret_forms import TOKEN

    if isinstance(value, str):
        return TOKEN.sub("…", value)
    if isinstance(value, dict):
        return {name: masked(one) for name, one in value.items()}
    return [masked(one) for one in value] if isinstance(value, list) else value


def write_hostfiles(checked: Checked, options: argparse.Namespace) -> None:
    """The nodes as hostfiles of DeepSpeed and MPI, which `nodes:` of a run file reads, too."""
    for name, passing in ((options.passing, True), (options.failing, False)):
        if name:
            lines = hostfile_lines(checked, passing)
            require_writable(
                name, lambda path, lines=lines: path.write_text("".join(lines), encoding="utf-8")
            )


def hostfile_lines(checked: Checked, passing: bool) -> Iterable[str]:
    """One line per machine: its address, its slots, and as a comment its name and its findings.

    Nodes with the same address share a line, since a hostfile may name a host only once. The line passes if all these
    nodes pass.
    """
    from allranks.core.text import fold

    by_address: dict[str, list[Standing]] = {}
    for one in checked.standings:
        by_address.setdefault(one.node.address, []).append(one)
    for address, nodes in by_address.items():
        if all(one.passes for one in nodes) != passing:
            continue
        names = fold(one.node.name for one in nodes)
        found = ", ".join(dict.fromkeys(name for one in nodes for name in one.findings))
        comment = " ".join(part for part in (names if names != address else "", found) if part)
        slots = sum(one.node.gpus for one in nodes)
        yield f"{address} slots={slots}" + (f"  # {comment}" if comment else "") + "\n"
