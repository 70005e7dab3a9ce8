"""Remove leftovers of ended runs: processes, temporary files, and with --files their folders.

It shows what it would remove and asks. Anything that allranks cannot prove it made is listed and left alone, and
so are the files that the script saved: only --models removes models, adapters and checkpoints.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from allranks.cli.common import add_json, add_nodes, agreed, print_json
from allranks.core.errors import BadInput, CouldNotTell, Problem


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        help="a run's id, the beginning of it, or its run file; default: all ended runs",
    )
    add_json(parser)
    add_nodes(parser)
    parser.add_argument(
        "--files",
        action="store_true",
        help="the run directories, too: logs, journal, report; models and checkpoints in them stay",
    )
    parser.add_argument(
        "--models",
        action="store_true",
        help="with --files: also the models and checkpoints that the training saved in the run directories",
    )
    parser.add_argument(
        "--cache",
        action="store_true",
        help="also the nodes' caches of base models (prepare.cache) that these runs name; other runs may use them",
    )
    parser.add_argument(
        "-n", "--dry-run", action="store_true", help="list what would be removed; remove nothing"
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def call(options: argparse.Namespace) -> int:
    """Returns 3 if a node could not be looked at or cleaned, or if it is unknown whether the named run has ended."""
    import asyncio

    from allranks.core.text import spelt_out
    from allranks.runs import cache_cleanup
    from allranks.runs.cleanup import alive, leftovers, not_done, tidy

    if options.models and not options.files:
        raise BadInput(
            Problem(
                "--models without --files.",
                why="models are removed with the folder of their run, and never alone.",
                do="allranks clean RUN --files --models",
            )
        )
    found = asyncio.run(leftovers(options.run, options.files, options.models))
    caches = asyncio.run(cache_cleanup.caches(options.run, dry_run=True)) if options.cache else {}
    if not options.json:
        for line in [*(found.lines() if found.runs or not caches else ()), *cache_cleanup.lines(caches)]:
            print(spelt_out(line))
    if options.dry_run or not (found.runs or caches):
        if options.json:
            print_json({**found.as_json(), **({"caches": caches} if options.cache else {})})
        unseen = cache_cleanup.failed(caches) or any(not_done(nodes) for nodes in found.runs.values())
        return CouldNotTell.exit_code if unseen or (options.run and found.unknown) else 0
    if not agreed("remove it?", options.yes):
        return 1
    gone = asyncio.run(cache_cleanup.caches(options.run, dry_run=False)) if options.cache else {}
    done = {**asyncio.run(tidy(found)), **({"caches": gone} if options.cache else {})}
    failed = {run_id: not_done(nodes) for run_id, nodes in done["cleaned"].items()}
    left = {run_id: alive(nodes) for run_id, nodes in done["cleaned"].items()}
    if options.json:
        print_json(done)
    else:
        tell(failed, left, options.files)
    if any(left.values()):
        return 1
    return CouldNotTell.exit_code if any(failed.values()) or cache_cleanup.failed(gone) else 0


def tell(failed: Mapping[str, Mapping[str, str]], left: Mapping[str, Mapping[str, str]], files: bool) -> None:
    """Prints what could not be cleaned on which node of which run, and which processes did not end."""
    from allranks.core.text import spelt_out
    from allranks.transport import folded

    for run_id, nodes in failed.items():
        for names, why in folded(nodes.items()):
            print(spelt_out(f"{run_id}  {names}  could not be cleaned: {why}"))
        if nodes:
            word = " --files" if files else ""
            print(f"{run_id}  is kept in part: allranks clean{word} {run_id} goes on when they answer")
    for run_id, nodes in left.items():
        for names, which in folded(nodes.items()):
            print(spelt_out(f"{run_id}  {names}  did not end: {which}"))
