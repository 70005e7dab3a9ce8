"""A node's clock is wrong.

## How it is found
Each node's clock against the clock of this machine, as far as one question and its answer can tell: only
an offset that the time of the question does not explain counts.

## Why it matters
Logs of different nodes cannot be put in order; Kerberos, TLS certificates and NFS attribute caches fail with
minutes of offset. (The keeper corrects each node's events to the head's clock by itself.)

## What to do
`chronyc makestep`, or `timedatectl set-ntp true`, on that node.

## Source
Cristian's algorithm: with a question at t0 and the answer at t1, the node's time is between them.

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View
from allranks.core.quantities import in_seconds

UNKNOWN_BLOCKS = False

NOTED, WARNED = 2.0, 60.0
"""Seconds. Two make the order of two logs doubtful; a minute is what certificates and Kerberos begin to mind."""


def check(context: Context) -> Findings:
    for view in context.machines:
        offset = least_offset(view)
        if offset is not None and abs(offset) >= NOTED:
            say = context.warn if abs(offset) >= WARNED else context.note
            side = "ahead" if offset > 0 else "behind"
            yield say(
                view,
                saw=f"the clock of {view.name} is at least {in_seconds(abs(offset))} {side}",
                expected=f"less than {NOTED:g} s off",
                why="logs of different nodes cannot be put in order.",
                fix=f"chronyc makestep, or timedatectl set-ntp true, on {view.name}",
            )


def least_offset(view: View) -> float | None:
    """Seconds by which the node's clock is off at least; 0 if the round trip explains it, None unknown."""
    sent, received = view.number("asked.sent_at"), view.number("asked.received_at")
    spent = view.number("collection.seconds")
    if sent is None or received is None or spent is None or not view.facts.taken_at:
        return None
    earliest, latest = sent, received - spent
    if view.facts.taken_at > latest:
        return view.facts.taken_at - latest
    return min(0.0, view.facts.taken_at - earliest)
