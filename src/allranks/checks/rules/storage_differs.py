"""The same path leads to different storage on different nodes.

## How it is found
The filesystem below the folders of the run on every machine: network storage on some nodes and a local disk
on others, or another server.

## Why it matters
A mount that failed on one node leaves an empty folder of the local disk in its place: the run writes
there, or finds another model than the rest.

## What to do
`findmnt PATH` on the nodes that differ; mount it (`mount -a`).

## Source
`/proc/self/mountinfo`; server names do not matter if `storage-not-one` has seen another node's file there.

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View, minority
from allranks.checks.filesystems import SHARED
from allranks.core.untrusted import mapping

NEEDS = ("storage.paths",)


def check(context: Context) -> Findings:
    paths = dict.fromkeys(path for view in context.machines for path in view.map("storage.paths"))
    for path in paths:
        found: dict[View, str] = {}
        for view in context.machines:
            state = mapping(view.map("storage.paths").get(path))
            if state.get("type") and not proved(view, str(state.get("looked_at"))):
                shared = state["type"] in SHARED
                found[view] = str(state.get("source")) if shared else "a disk of the node's own"
        for view, storage, usual in minority(found):
            yield context.warn(
                view,
                saw=f"{path} on {view.name} is on {storage}",
                expected=f"{usual}, as on other nodes",
                why="a mount that failed leaves an empty folder in its place.",
                fix=f"findmnt -T {path} on {view.name}; mount -a",
            )


def proved(view: View, folder: str) -> bool:
    """Whether a file made on another node was seen here: one storage, whatever its server is called."""
    return mapping(view.map("shared.folders").get(folder)).get("done") is True
