"""`same_host: true`, but the nodes are different machines.

## How it is found
The kernel's boot id of every node, if the run file says `same_host: true`.

## Why it matters
`same_host` allows several nodes on one machine and so turns off the check for a node that is listed twice. Ranks that
are told that they share a machine also talk over its loopback, which reaches no other machine.

## What to do
Remove `same_host: true`.

## Source
`/proc/sys/kernel/random/boot_id` (random(4)).

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.phrases import listed

NEEDS = ("system.boot_id",)


def applies(context: Context) -> bool:
    return context.run.same_host


def check(context: Context) -> Findings:
    known = [group for group in context.hosts if group[0].text("system.boot_id")]
    if len(known) > 1:
        names = [listed(view.name for view in group) for group in known]
        yield context.block(
            "same_host",
            saw=f"same_host: true, but {len(known)} machines answered: {'; '.join(names[:8])}",
            expected="one machine",
            why="ranks would look for each other on their own loopback and never meet.",
            fix="remove same_host: true",
        )
