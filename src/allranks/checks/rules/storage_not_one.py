"""The same path leads to network storage on all nodes, but not to the same storage.

## How it is found
If two or more machines have network storage at a folder of the run, allranks makes a file with a random name on
one of them and looks for it on the others; it is removed at once.

## Why it matters
Two servers or exports behind one name, or a client that shows an old state, look alike in every mount table. A
checkpoint that one node wrote is not there for the others: a resume reads another step on each node, or fails
on some.

## What to do
`findmnt -T PATH` on both nodes and the server's address behind the name (`getent hosts SERVER`); mount the same
export. Or give `save.to` a local disk: each node then keeps its own.

## Source
A second round of questions (docs/architecture.md). allranks writes the file before any node looks for it, because an
NFS client remembers for up to 60 s that a name does not exist (nfs(5), `acdirmax`, `lookupcache`).

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.core.text import printable
from allranks.core.untrusted import mapping

UNKNOWN_BLOCKS = False


def check(context: Context) -> Findings:
    for view in context.answered:
        for folder, answer in view.map("shared.folders").items():
            writer, seen = mapping(answer).get("writer"), mapping(answer).get("done")
            if seen is True:
                continue
            if seen is False:
                yield context.warn(
                    view,
                    saw=f"a file that {writer} made in {folder} is not there on {view.name}",
                    expected="one storage: both have network storage mounted there",
                    why="checkpoints that one node writes there would be missing on the other.",
                    fix=f"findmnt -T {folder} on {writer} and on {view.name}; mount the same export",
                )
            else:
                yield context.warn(
                    view,
                    saw=f"whether {folder} is one storage on {writer} and {view.name} could not be seen: "
                    f"{printable(mapping(answer).get('reason'), 300)}",
                    expected="a file made on one node and seen on the other",
                    why="two storages behind one path would look the same.",
                    fix=f"findmnt -T {folder} on both",
                )
