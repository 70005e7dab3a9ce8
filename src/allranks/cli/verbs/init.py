"""Write a commented run file from a hostfile, node names, a SLURM job, or for this machine.

With --from it reads a script that starts training by hand, writes the run file for it, and reports errors in the
script.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from allranks.cli.common import add_json, gpus_here, positive, print_json, require_writable
from allranks.core import BadInput, Problem

if TYPE_CHECKING:
    from allranks.core import Finding


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "nodes",
        nargs="?",
        help="a hostfile or node names such as node[1-3]; default: this machine",
    )
    parser.add_argument(
        "-o",
        "--output",
        default="run.yaml",
        metavar="FILE",
        help="where to write it (default run.yaml, - prints it)",
    )
    parser.add_argument("--gpus", type=positive, default=None, help="GPUs per node")
    parser.add_argument("--train", metavar="FILE", help="a LLaMA-Factory YAML or a training script")
    parser.add_argument(
        "--from",
        dest="script",
        metavar="SCRIPT",
        help="an sbatch or shell script: its nodes, ranks, variables and training command",
    )
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    add_json(parser)


def call(options: argparse.Namespace) -> int:
    text, notes = from_script(options) if options.script else (fresh(options), ())
    found = {"findings": [note.as_json() for note in notes]} if options.script else {}
    if options.output == "-":
        if options.json:
            print_json({"file": None, "text": text, **found})
        else:
            print(text, end="")
        return 0
    path = Path(options.output)
    if path.exists() and not options.force:
        raise BadInput(Problem(f"{path} exists", do="another name with -o, or --force to overwrite it"))
    require_writable(path, lambda path: path.write_text(text, encoding="utf-8"))
    if options.json:
        print_json({"file": str(path), **found})
    else:
        print(f"{path} written. Next: allranks {next_verb(text)} {path}", file=sys.stderr)
    return 0


def next_verb(text: str) -> str:
    """`check` needs nodes, which a scheduler chooses only when the job runs."""
    from allranks import spec

    return "plan" if spec.loads(text).launcher.chooses_nodes else "check"


def fresh(options: argparse.Namespace) -> str:
    from allranks import spec

    return spec.init_text(
        nodes=options.nodes,
        gpus=options.gpus,
        train=options.train,
        environ=os.environ,
        file="run.yaml" if options.output == "-" else options.output,
        gpus_here=gpus_here() if options.nodes is None else None,
    )


def from_script(options: argparse.Namespace) -> tuple[str, tuple[Finding, ...]]:
    """The run file that does the same as a script, and the findings about the script, which are shown at once."""
    from allranks import spec
    from allranks.output.terminal import print_findings
    from allranks.spec import text as files

    if options.train:
        raise BadInput(Problem("--from and --train.", "the script says what is trained.", "one of them"))
    is_job = "#SBATCH" in files.read(options.script)
    words = ("sbatch" if is_job else "bash", options.script)
    run = spec.load_typed(
        spec.Typed(words=words, nodes=options.nodes, gpus=options.gpus), gpus_here=gpus_here
    )
    if not options.json:
        with contextlib.redirect_stdout(sys.stderr):
            print_findings(list(run.notes))
    return f"# What {options.script} does.\n{run.text}", run.notes
