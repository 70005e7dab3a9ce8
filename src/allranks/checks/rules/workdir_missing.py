"""The folder that the ranks start in is not on a node.

## How it is found
The folder of `train.workdir` on every node; for a relative one of `code` on this machine, once.

## Why it matters
torchrun cannot start in a folder that is not there: its node ends at once, and the others wait for 600 s.

## What to do
Correct the path, make the folder on the nodes that lack it, or leave `train.workdir` out: a script then starts in
its own folder. In a container the path is the container's: mount the folder.

## Source
The node's own file system; POSIX `chdir`.

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View
from allranks.checks.fact_request import shipped, workdir
from allranks.core import Finding
from allranks.core.untrusted import mapping

NEEDS = ("storage.files",)


def applies(context: Context) -> bool:
    return workdir(context.run) is not None


def check(context: Context) -> Findings:
    path = workdir(context.run) or ""
    in_code = path in shipped(context.run)
    for view in context.machines[:1] if in_code else context.machines:
        state = mapping(view.map("storage.files").get(path))
        if state.get("exists") is False or state.get("folder") is False or "bytes" in state:
            yield said(context, path, None if in_code else view, state.get("exists") is False)


def said(context: Context, path: str, view: View | None, absent: bool) -> Finding:
    seen = "is not there" if absent else "is not a folder"
    return context.block(
        view,
        key="train.workdir",
        saw=f"{path} {seen}" + (f" on {view.name}" if view else ", and so not in the code that is shipped"),
        expected="the folder that the ranks start in, on every node",
        why="torchrun could not start, and the other nodes would wait for 600 s.",
        fix=f"make {path} there, or correct train.workdir",
    )
