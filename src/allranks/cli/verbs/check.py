"""Look at every node and say what would break a run.

Exit code 1 where something blocks, 3 where a node or a fact could not be looked at.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from allranks.cli.common import add_file, add_json, load_run, print_json, require_ids, require_writable


def arguments(parser: argparse.ArgumentParser) -> None:
    add_file(parser)
    add_json(parser)
    parser.add_argument(
        "--facts", metavar="DIR", help="judge recorded facts (DIR/<node>.json); touch no node"
    )
    parser.add_argument("--save-facts", metavar="DIR", help="record the facts of each node in DIR")
    parser.add_argument(
        "--only", action="append", default=[], metavar="ID", help="show only this check's findings"
    )
    parser.add_argument(
        "--skip", action="append", default=[], metavar="ID", help="leave this check's findings out"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="list what is fine, too")


def call(options: argparse.Namespace) -> int:
    import asyncio

    from allranks.faces.terminal import print_findings
    from allranks.runs.inspect import judge, verdict_code

    require_ids("--only", options.only)
    require_ids("--skip", options.skip)
    run = load_run(options)
    if options.facts:
        inspection = judge(run, recorded(run, options.facts))
    else:
        inspection = asyncio.run(looked_at(run))
    if options.save_facts:
        save(inspection, options.save_facts)
    wanted = [f for f in inspection.findings if f.id not in options.skip and f.id in (options.only or [f.id])]
    if options.json:
        nodes = [
            {"name": node.name, "address": node.address, "rank": node.rank} for node in run.cluster.nodes
        ]
        print_json({"nodes": nodes, "findings": [f.as_json() for f in wanted]})
    else:
        print_findings(wanted, verbose=options.verbose)
    return verdict_code([f for f in inspection.stopping() if f in wanted])


async def looked_at(run):
    from allranks.reach import open_nodes
    from allranks.runs.inspect import inspect

    nodes = open_nodes(run)
    try:
        return await inspect(nodes, run)
    finally:
        await nodes.close()


def recorded(run, folder: str):
    """The facts of DIR/<node>.json; a node without a file is unreadable, which is a verdict and no error."""
    from allranks.words import Facts, facts_from_json

    found = []
    for node in run.cluster.nodes:
        path = Path(folder) / f"{node.name}.json"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(data, dict):
                raise ValueError("it is no JSON object")
            found.append(facts_from_json({**data, "node": node.name}))
        except (OSError, ValueError) as error:
            found.append(Facts(node.name, 0.0, {}, {"node": f"{path}: {error}"}))
    return found


def save(inspection, folder: str) -> None:
    require_writable(folder, lambda path: path.mkdir(parents=True, exist_ok=True))
    for facts in inspection.facts:
        path = Path(folder) / f"{facts.node}.json"
        text = json.dumps(facts.as_json(), indent=2, sort_keys=True) + "\n"
        require_writable(path, lambda path, text=text: path.write_text(text, encoding="utf-8"))
