"""Run one command on many nodes at the same time, and fold equal answers together.

The command comes after -- and runs without a shell; for a shell use `-- sh -c '…'`. NODES are names such as
node[1-3], a hostfile, a run file, or the whole id of a run. Exit code 0 if the command ended with 0 on every node,
1 if it failed on one, 3 if a node could not be asked or the command did not end in time.
"""

from __future__ import annotations

import argparse

from allranks.cli.common import above_zero, add_hosts, add_json, print_json

TAKES_COMMAND = True


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [-h] [--json] [--timeout SECONDS] [--user NAME] … NODES -- COMMAND [WORD …]"
    parser.add_argument("nodes", metavar="NODES", help="node names, a hostfile, a run file or a run's id")
    add_json(parser)
    add_hosts(parser)
    parser.add_argument(
        "--timeout",
        type=above_zero,
        default=300.0,
        metavar="SECONDS",
        help="time limit of the command per node in seconds (300); then it is ended with everything that it started",
    )
    parser.add_argument("--user", metavar="NAME", help="the user that logs in, if NODES does not name one")
    parser.add_argument(
        "--transport",
        choices=("asyncssh", "openssh"),
        default="asyncssh",
        help="openssh: the system's own ssh, for Kerberos and second factors",
    )


def call(options: argparse.Namespace) -> int:
    import asyncio
    import sys

    from allranks.core import BadInput, Problem
    from allranks.core.text import spelt_out
    from allranks.output.command_output import print_results, summary
    from allranks.runs.node_targets import Access, open_targets
    from allranks.transport.commands import exit_code, run_on_all

    if not options.command:
        do = "allranks exec NODES -- nvidia-smi -L"
        raise BadInput(Problem("no command", "the command after -- runs on the nodes.", do))
    nodes = open_targets(options.nodes, Access(options.user, options.transport, options.accept_new_hosts))

    async def on_all():
        try:
            return await run_on_all(nodes, options.command, options.timeout)
        finally:
            await nodes.close()

    results = asyncio.run(on_all())
    code = exit_code(results)
    if options.json:
        print_json(
            {"command": options.command, "exit_code": code, "nodes": [one.as_json() for one in results]}
        )
        return code
    print_results(results)
    if code:
        print(spelt_out(summary(results)), file=sys.stderr)
    return code
