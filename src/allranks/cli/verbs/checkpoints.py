"""Verify or prune the checkpoints of a run or a folder."""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json


def arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    verify = kinds.add_parser("verify", help="is this adapter whole? exit code 0 only if it is")
    verify.add_argument("path", help="a folder with an adapter, or a run's id")
    verify.add_argument(
        "--base", metavar="DIR", help="the base model's folder, to compare names and shapes with"
    )
    add_json(verify)
    prune = kinds.add_parser("prune", help="remove what neither resuming nor using needs")
    prune.add_argument("path", help="a run's output folder, or a run's id")
    prune.add_argument("--keep", type=int, default=3, help="checkpoints to keep (default 3)")
    prune.add_argument("-n", "--dry-run", action="store_true", help="show it; remove nothing")
    prune.add_argument("-y", "--yes", action="store_true", help="ask nothing")
    add_json(prune)


def call(options: argparse.Namespace) -> int:
    from allranks.cli import checkpointing

    return {"verify": checkpointing.verify, "prune": checkpointing.prune}[options.kind](options)
