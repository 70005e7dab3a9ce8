"""List, verify, fetch, prune or export the checkpoints of a run or a folder.

Name a checkpoint by its folder, by node:/path if it is on another machine, or by a run: allranks then looks for it
on the run's head.
"""

from __future__ import annotations

import argparse
from typing import Any

from allranks.cli.common import add_hosts, add_json, positive

PLACE = "a folder, node:/path, a run's id, or its run file"


def arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", metavar="VERB", required=True)
    for add in (_list, _fetch, _verify, _prune, _export):
        add(kinds)


def _list(kinds: Any) -> None:
    listed = kinds.add_parser("list", help="which there are: step, size, age, and whether each is whole")
    listed.add_argument(
        "path",
        metavar="RUN|PATH",
        nargs="?",
        default=None,
        help=f"{PLACE}; default: the newest run",
    )
    listed.add_argument(
        "--quick",
        action="store_true",
        help="do not read weights: whether a checkpoint is whole stays unknown",
    )
    add_json(listed)
    add_hosts(listed)


def _fetch(kinds: Any) -> None:
    fetch = kinds.add_parser(
        "fetch",
        help="copy one here: digests compared, from where an earlier try broke off, whole or not at all",
    )
    fetch.add_argument(
        "path", metavar="RUN|PATH", help=f"{PLACE}; if there are several, the newest whole one"
    )
    fetch.add_argument(
        "to", metavar="TO", nargs="?", help="the new folder; with a slash at its end the folder around it"
    )
    fetch.add_argument("--step", type=positive, metavar="N", help="the checkpoint of this step")
    add_json(fetch)
    add_hosts(fetch)


def _verify(kinds: Any) -> None:
    verify = kinds.add_parser("verify", help="is this checkpoint whole? exit code 0 only if it is")
    verify.add_argument("path", help=PLACE + ", or a checkpoint's file")
    verify.add_argument(
        "--base", metavar="DIR", help="the base model's folder, to compare names and shapes with"
    )
    add_json(verify)
    add_hosts(verify)


def _prune(kinds: Any) -> None:
    prune = kinds.add_parser("prune", help="remove files that are needed neither to resume nor to use it")
    prune.add_argument("path", help=PLACE + ": all of a run")
    prune.add_argument("--keep", type=positive, default=3, help="checkpoints to keep (default 3)")
    prune.add_argument(
        "-n", "--dry-run", action="store_true", help="list what would be removed; remove nothing"
    )
    prune.add_argument("-y", "--yes", action="store_true", help="do not ask")
    add_json(prune)
    add_hosts(prune)


def _export(kinds: Any) -> None:
    export = kinds.add_parser(
        "export",
        help="merge an adapter into its base model, or convert it for vLLM; proved before it is there",
    )
    export.add_argument("path", help=PLACE)
    export.add_argument("-o", "--output", metavar="DIR", required=True, help="the new folder")
    export.add_argument(
        "--for",
        dest="form",
        choices=("merged", "vllm", "weights"),
        default="merged",
        help="a whole model (default), an adapter that vLLM loads, or the whole weights of a DeepSpeed checkpoint",
    )
    export.add_argument(
        "--base", metavar="DIR", help="the base model's folder; by default the one that the adapter names"
    )
    export.add_argument(
        "--python",
        metavar="PATH",
        help="a Python with torch, e.g. the training environment's; by default this one",
    )
    export.add_argument(
        "--compare",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="load both models and compare their outputs; default if they fit into memory",
    )
    export.add_argument(
        "--max-lora-rank",
        type=positive,
        metavar="N",
        help="the limit of the vLLM server (default: 512, its maximum)",
    )
    export.add_argument(
        "--accept", action="append", default=[], metavar="ID", help="ignore this finding and continue"
    )
    export.add_argument("-v", "--verbose", action="store_true", help="show what the libraries print")
    add_json(export)
    add_hosts(export)


def call(options: argparse.Namespace) -> int:
    from allranks.cli import checkpoint_verbs, export_verb

    kinds = {
        "list": checkpoint_verbs.listed,
        "verify": checkpoint_verbs.verify,
        "fetch": checkpoint_verbs.fetched,
        "prune": checkpoint_verbs.prune,
        "export": export_verb.export,
    }
    return kinds[options.kind](options)
