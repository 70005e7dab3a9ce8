"""No time service keeps a node's clock.

## How it is found
The kernel's own word (adjtimex) on whether a time service keeps its clock, if the run has several
machines.

## Why it matters
The order of events on different nodes shows which rank failed first. The keeper corrects each
node's times to the head's clock as it joins, but a clock that drifts or jumps later spoils the order;
Kerberos, TLS and NFS also refuse work with clocks that are minutes apart.

## What to do
Start chrony or systemd-timesyncd on that node (`timedatectl set-ntp true`).

## Source
adjtimex(2), STA_UNSYNC.

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings

NEEDS = ("system.clock",)
UNKNOWN_BLOCKS = False


def applies(context: Context) -> bool:
    return len(context.hosts) > 1


def check(context: Context) -> Findings:
    for view in context.machines:
        if view.get("system.clock.synchronized") is False:
            yield context.note(
                view,
                saw=f"no time service keeps the clock of {view.name}",
                expected="a clock that NTP or PTP keeps",
                why="times in logs of different nodes may not be comparable.",
                fix=f"timedatectl set-ntp true on {view.name}, or start chronyd",
            )
