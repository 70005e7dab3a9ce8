"""Check, prepare, probe, launch, watch, verify, prune and report a run.

It does not launch if a check fails or cannot be performed, unless you accept that finding with --accept ID. Once
launched, the run no longer needs this terminal: Ctrl-C leaves it running.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from allranks.cli import run_modes
from allranks.cli.common import add_file, add_hosts, add_json, load_run

TAKES_COMMAND = True
"""The training command comes after `--`, in place of a run file."""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_file(parser)
    add_json(parser)
    add_hosts(parser)
    run_modes.add(parser)
    parser.add_argument(
        "--resume",
        metavar="auto|PATH|NODE:PATH",
        help="continue from the newest verified checkpoint, or from this one, which may be on another machine; like "
        "`resume` in the run file",
    )
    parser.add_argument("--detach", action="store_true", help="return as soon as the supervisors run")
    parser.add_argument(
        "-n", "--dry-run", action="store_true", help="print each node's command; start nothing"
    )
    parser.add_argument(
        "--probe",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="test the network between the nodes first; default if there are several machines",
    )
    parser.add_argument(
        "--exclude-unready",
        action="store_true",
        help="leave out nodes that fail their check: spares take their places, otherwise fewer ranks train",
    )
    # Nothing is asked; scripts may say so all the same, as with `stop` and `clean`.
    parser.add_argument("-y", "--yes", action="store_true", help=argparse.SUPPRESS)


def call(options: argparse.Namespace) -> int:
    from allranks.cli.run_verbs import run_command

    run_modes.set_for(options)
    if options.resume is not None:
        options.sets = [*options.sets, f"resume={resume_of(options.resume)}"]
    run = load_run(options)
    if run.sweep and run.launcher.queue is not None and not options.dry_run:
        from allranks.cli.sweep_verb import sweep_command

        return sweep_command(run, options)
    return run_command(run, options)


def resume_of(text: str) -> str:
    """Quotes the text for YAML. A path that exists here is relative to the caller, not to the run file."""
    path = Path(text)
    return json.dumps(str(path.absolute()) if text != "auto" and path.exists() else text)
