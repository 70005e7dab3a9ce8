"""Processes of an earlier run of allranks are still alive on a node.

## How it is found
The run directories of every node list supervisors, keepers and ranks. allranks looks which of them are still
alive, by pid, start time and boot id.

## Why it matters
A run that still lives shares the machine: GPUs, memory, ports. Ranks whose supervisor is gone hold them without any
use, and nothing will stop them.

## What to do
`allranks ps` shows what still runs, `allranks stop` ends it; `allranks clean` ends processes that no longer have a
supervisor. Both signal only processes that are proved to be the run's.

## Source
The run directory of each run (docs/architecture.md).

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.phrases import listed
from allranks.core.text import plural
from allranks.core.untrusted import listing

NEEDS = ("leftovers.runs",)
UNKNOWN_BLOCKS = False


def check(context: Context) -> Findings:
    for view in context.machines:
        for left in view.maps("leftovers.runs"):
            run, pids = left.get("run"), listing(left.get("processes"))
            supervised = left.get("supervisor") or left.get("keeper")
            if supervised:
                yield context.warn(
                    view,
                    saw=f"run {run} still runs on {view.name} (supervisor {supervised}, "
                    f"{plural(len(pids), 'process', 'processes')})",
                    expected="no other run on the node",
                    why="both would share its GPUs, memory and network.",
                    fix=f"allranks stop {run}, or wait for its end",
                )
            elif pids:
                yield context.block(
                    view,
                    saw=f"{plural(len(pids), 'process', 'processes')} of run {run} outlived it on {view.name}: "
                    f"pid {listed(pids)}",
                    expected="nothing left of earlier runs",
                    why="they hold GPUs, memory or ports for nothing.",
                    fix=f"allranks clean {run}",
                )
