"""The run's user has different numeric ids on different nodes.

## How it is found
The uid of the run on every machine, if folders of the run are on shared storage.

## Why it matters
Network filesystems know users by number: one node cannot read or replace the files of another, and a resume on
other nodes fails.

## What to do
Give the user the same uid on all nodes (LDAP, or `usermod -u`), or keep the run on local disks.

## Source
NFS AUTH_SYS sends numeric user ids (RFC 5531).

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.filesystems import SHARED
from allranks.core.untrusted import mapping

NEEDS = ("system.user", "storage.paths")
UNKNOWN_BLOCKS = False


def applies(context: Context) -> bool:
    return any(
        mapping(state).get("type") in SHARED
        for view in context.answered
        for state in view.map("storage.paths").values()
    )


def check(context: Context) -> Findings:
    for view, uid, usual in context.odd_ones("system.user.uid"):
        yield context.warn(
            view,
            saw=f"the run's user is uid {uid} on {view.name}",
            expected=f"uid {usual}, as on other nodes",
            why="the shared folders know users by number: this node may not read what others write.",
            fix="give the user one uid on all nodes, or keep the run's folders on local disks",
        )
