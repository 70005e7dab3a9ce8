"""A node's clock differs from the head's.

## How it is found
Each node compares its clock with the head's over their own network. The fastest of five questions counts; its error is
at most half of its round trip.

## Why it matters
Logs of different nodes cannot be put in order. With an offset of minutes Kerberos, TLS certificates and NFS attribute
caches fail. (The keeper corrects each node's events to the head's clock by itself.)

## What to do
`chronyc makestep`, or `timedatectl set-ntp true`, on that node.

## Source
Cristian's algorithm. The limits are those of the check clock-offset.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks.rules.clock_offset import NOTED, WARNED
from allranks.core import Finding
from allranks.core.quantities import in_seconds
from allranks.probe.judge import Context


def check(context: Context) -> Iterator[Finding]:
    for node, dial in context.rendezvous.items():
        if dial.clock is None:
            continue
        offset, error = dial.clock
        least = max(0.0, abs(offset) - error)
        if least >= NOTED:
            say = context.warn if least >= WARNED else context.note
            yield say(
                node,
                saw=f"its clock is {in_seconds(least)} {'ahead of' if offset > 0 else 'behind'} {context.head}'s",
                expected=f"less than {NOTED:g} s off",
                why="logs of different nodes cannot be put in order.",
                fix=f"on {node}: chronyc makestep, or timedatectl set-ntp true",
            )
