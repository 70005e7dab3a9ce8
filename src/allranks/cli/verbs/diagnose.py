"""Name the cause of a failed run from its logs, without nodes; or examine a job that hangs now.

PATH is a log, a folder of logs, or the id of a run known here. With --live it examines a running job that allranks
did not start: on this machine, on the given nodes (such as node[1-3]), or on those of a SLURM job. This changes
nothing: it reads the processes of your own ranks twice. Exit code 1 if a cause is named, 0 if nothing is wrong (or
the job advances), 3 if the cause is not proved, 2 if an argument or a path is wrong. It is 3, too, if nothing is wrong
but a log could not be read, or if the logs do not show the job's end.
"""

from __future__ import annotations

import argparse

from allranks.cli.common import above_zero, add_hosts, add_json, positive

SECONDS = 3.0
MOST_SECONDS = 120.0


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="logs, folders of logs, or a run's id; - is standard input; with --live names of nodes",
    )
    add_json(parser)
    parser.add_argument(
        "--run-file",
        metavar="FILE",
        help="also compare the figures in the logs with the plan of this run file",
    )
    live = parser.add_argument_group("a job that hangs now")
    live.add_argument("--live", action="store_true", help="examine processes instead of logs")
    live.add_argument("--slurm-job", metavar="ID", help="the nodes of this SLURM job, through srun")
    live.add_argument("--pid", type=positive, metavar="PID", help="the job of this process of this machine")
    live.add_argument(
        "--seconds",
        type=above_zero,
        default=SECONDS,
        metavar="SECONDS",
        help=f"between the first look and the last ({SECONDS:g}, at most {MOST_SECONDS:g})",
    )
    live.add_argument(
        "--no-stacks", action="store_true", help="do not read the memory of processes; this proves less"
    )
    live.add_argument("--user", metavar="NAME", help="the user that logs in to the nodes")
    live.add_argument(
        "--transport",
        choices=("asyncssh", "openssh"),
        default="asyncssh",
        help="openssh: the system's own ssh",
    )
    add_hosts(parser)


def call(options: argparse.Namespace) -> int:
    from allranks.core import BadInput, Problem

    if options.live or options.slurm_job or options.pid is not None:
        if options.seconds > MOST_SECONDS:
            raise BadInput(
                Problem(f"--seconds {options.seconds:g} is too long.", do=f"at most {MOST_SECONDS:g}")
            )
        from allranks.cli.live_verb import live_command

        return live_command(options)
    if not options.paths:
        do = "allranks diagnose PATH…, or allranks diagnose --live [NODES] for a job that hangs now"
        raise BadInput(Problem("nothing to read", "no log, folder or run is named.", do))
    from allranks.cli.diagnose_verb import diagnose_command

    return diagnose_command(options)
