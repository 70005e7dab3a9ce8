"""Stop a run: every process of it, and nothing else."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from allranks.cli.common import add_json, add_nodes, agreed, print_json
from allranks.core.errors import CouldNotTell


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="a run's id, the beginning of it, or its run file")
    add_json(parser)
    add_nodes(parser)
    parser.add_argument(
        "-n", "--dry-run", action="store_true", help="list what would be stopped; stop nothing"
    )
    parser.add_argument(
        "--save",
        action="store_true",
        help="let the ranks save at their next step first, if they can; resume: auto continues from there",
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def call(options: argparse.Namespace) -> int:
    import asyncio

    from allranks.core.text import spelt_out
    from allranks.runs.cleanup import stop, sweep
    from allranks.runs.index import find
    from allranks.runs.last_save import newest_save, saving

    run_id = asyncio.run(find(options.run))
    if options.dry_run:
        found = asyncio.run(sweep(run_id, dry_run=True))
        if options.json:
            print_json({"id": run_id, "nodes": found})
        else:
            for line in describe(found):
                print(spelt_out(line))
        return CouldNotTell.exit_code if any("error" in node for node in found) else 0
    before = asyncio.run(saving(run_id)) if options.save else None
    refusal = before.refusal() if before is not None else ""
    if refusal:
        print(spelt_out(f"{run_id} cannot be saved before it is stopped: {refusal}"), file=sys.stderr)
        if not agreed(f"stop {run_id} without a save?", options.yes):
            return 1
    elif not agreed(f"stop {run_id}?", options.yes or options.json or asyncio.run(is_quiet(run_id))):
        return 1
    result = asyncio.run(stop(run_id, options.save))
    is_unsaved = before is not None and (before.can or bool(refusal))
    if before is not None and before.can:
        saved = asyncio.run(newest_save(run_id))
        is_unsaved = saved is None or saved == before.last
        result = {**result, "saved": None if is_unsaved else saved}
    elif is_unsaved:
        result = {**result, "saved": None}
    if options.json:
        print_json(result)
    else:
        tell(result)
    if result["left"] or is_unsaved:
        return 1
    return CouldNotTell.exit_code if result["unreadable"] else 0


def tell(result: Mapping[str, Any]) -> None:
    """Prints what was stopped and saved, and what is left."""
    from allranks.core.text import spelt_out
    from allranks.output.messages import print_findings
    from allranks.runs.last_save import saved_text
    from allranks.transport import folded

    print(f"{result['id']} {result['state'] or 'unknown'}: {result['left']} of its processes are left")
    if "saved" in result:
        saved = result["saved"]
        print(spelt_out(f"  saved: {saved_text(saved)}" if saved else "  nothing was saved before the stop"))
    if result.get("finishes"):
        print("  its keeper lives on: it makes the last copies, prunes and reports, and then ends by itself")
    for names, why in folded(result["unreadable"].items()):
        print(spelt_out(f"  {names} could not be looked at: {why}"))
    if result.get("findings"):
        print_findings(result["findings"])


async def is_quiet(run_id: str) -> bool:
    """Whether the run has ended and no part of it lives. If so, there is nothing to ask about."""
    from allranks.runs.cleanup import FINAL, sweep
    from allranks.runs.index import all_runs

    ended = [run for run in await all_runs() if run.get("id") == run_id and run.get("state") in FINAL]
    return bool(ended) and not any(
        node.get("processes") or "error" in node for node in await sweep(run_id, dry_run=True)
    )


def describe(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The processes to stop. Equal processes share a line, with their number if they are on many nodes, or else their
    pids."""
    from allranks.core.text import fold
    from allranks.transport import folded

    failed = [(str(node["node"]), str(node["error"])) for node in found if "error" in node]
    lines = [f"{names}  could not be looked at: {why}" for names, why in folded(failed)]
    alike: dict[str, list[tuple[str, int]]] = {}
    for node in found:
        for process in node.get("processes", ()):
            text = f"{process.get('name', '')}  {process.get('why', '')}".rstrip()
            alike.setdefault(text, []).append((str(node["node"]), int(process["pid"])))
    for text, those in alike.items():
        names = fold(dict.fromkeys(node for node, _ in those))
        pids = [str(pid) for _, pid in those]
        one_node = len({node for node, _ in those}) == 1
        lines.append(f"{names}  {'pid ' + ', '.join(pids) if one_node else f'{len(pids)} processes'}  {text}")
    return lines or ["nothing of this run is left on any node"]
