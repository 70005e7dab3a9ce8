"""Write a commented run file from a hostfile, node names, a SLURM job, or for this machine."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from allranks.cli.common import add_json, gpus_here, positive, print_json, require_writable
from allranks.core import BadInput, Problem


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "nodes",
        nargs="?",
        help="a hostfile or node names such as node[1-3]; this machine where it is left out",
    )
    parser.add_argument(
        "-o",
        "--output",
        default="run.yaml",
        metavar="FILE",
        help="where to write it (default run.yaml, - prints it)",
    )
    parser.add_argument("--gpus", type=positive, default=None, help="GPUs a node")
    parser.add_argument("--train", metavar="FILE", help="a LLaMA-Factory YAML or a training script")
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    add_json(parser)


def call(options: argparse.Namespace) -> int:
    from allranks import spec

    text = spec.init_text(
        nodes=options.nodes,
        gpus=options.gpus,
        train=options.train,
        environ=os.environ,
        file="run.yaml" if options.output == "-" else options.output,
        gpus_here=gpus_here() if options.nodes is None else None,
    )
    if options.output == "-":
        if options.json:
            print_json({"file": None, "text": text})
        else:
            print(text, end="")
        return 0
    path = Path(options.output)
    if path.exists() and not options.force:
        raise BadInput(Problem(f"{path} exists", do="another name with -o, or --force to overwrite it"))
    require_writable(path, lambda path: path.write_text(text, encoding="utf-8"))
    if options.json:
        print_json({"file": str(path)})
    else:
        print(f"{path} written. Next: allranks check {path}", file=sys.stderr)
    return 0
