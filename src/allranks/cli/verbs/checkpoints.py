"""Verify, prune or export the checkpoints of a run or a folder."""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json, positive


def arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    verify = kinds.add_parser("verify", help="is this checkpoint whole? exit code 0 only if it is")
    verify.add_argument(
        "path", help="a folder with an adapter or another checkpoint, its file, or a run's id"
    )
    verify.add_argument(
        "--base", metavar="DIR", help="the base model's folder, to compare names and shapes with"
    )
    add_json(verify)
    prune = kinds.add_parser("prune", help="remove what neither resuming nor using needs")
    prune.add_argument("path", help="a run's output folder, or a run's id")
    prune.add_argument("--keep", type=positive, default=3, help="checkpoints to keep (default 3)")
    prune.add_argument("-n", "--dry-run", action="store_true", help="show it; remove nothing")
    prune.add_argument("-y", "--yes", action="store_true", help="ask nothing")
    add_json(prune)
    export = kinds.add_parser(
        "export",
        help="merge an adapter into its base model, or convert it for vLLM; proved before it is there",
    )
    export.add_argument("path", help="a folder with an adapter, or a run's id")
    export.add_argument("-o", "--output", metavar="DIR", required=True, help="the new folder")
    export.add_argument(
        "--for",
        dest="form",
        choices=("merged", "vllm"),
        default="merged",
        help="a whole model (default), or an adapter that vLLM loads",
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
        help="load both models and compare their outputs; by default where they fit into memory",
    )
    export.add_argument(
        "--max-lora-rank",
        type=positive,
        metavar="N",
        help="what the vLLM server takes (default: 512, its most)",
    )
    export.add_argument(
        "--accept", action="append", default=[], metavar="ID", help="let this known finding pass"
    )
    export.add_argument("-v", "--verbose", action="store_true", help="show what the libraries print")
    add_json(export)


def call(options: argparse.Namespace) -> int:
    from allranks.cli import checkpoint_verbs, export_verb

    kinds = {"verify": checkpoint_verbs.verify, "prune": checkpoint_verbs.prune, "export": export_verb.export}
    return kinds[options.kind](options)
