"""A folder that the run writes to cannot be written.

## How it is found
The allranks home (where each run's directory is made), `save.to` and, on the head, `save.copy_to`, by
really writing a small file there on every node; of a folder that is not there yet, its nearest parent.

## Why it matters
The run would train until its first save and lose it.

## What to do
Give the run's user the folder, mount it read-write, or name another one in `save`.

## Source
The node's own answer to the write.

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View
from allranks.checks.fact_request import path_on_node
from allranks.core.untrusted import mapping

NEEDS = ("storage.paths", "system.allranks_home")


def check(context: Context) -> Findings:
    for view in context.machines:
        for key, path in written(context, view):
            state = mapping(view.map("storage.paths").get(path))
            if state.get("writable") is not False:
                continue
            made = "" if state.get("exists") else f" (it is not there; looked at {state.get('looked_at')})"
            yield context.block(
                view,
                key=key,
                saw=f"{path} on {view.name} cannot be written: {state.get('reason')}{made}",
                expected=f"a folder that the user {view.text('system.user.name') or 'of the run'} may write",
                why="the run would train until its first save and lose it."
                if key
                else "no run can be started.",
                fix=f"on {view.name}, make {path} writable, or name another folder",
            )


def written(context: Context, view: View) -> list[tuple[str | None, str]]:
    """`(key of the run file, path)` of what a node's ranks write; None as the key of the home."""
    found: list[tuple[str | None, str]] = [(None, view.text("system.allranks_home") or "")]
    if context.run.save.to:
        found.append(("save.to", path_on_node(context.run, context.run.saved(context.run.save.to)) or ""))
    copy_to = context.run.save.copy_to
    if copy_to and ":" not in copy_to and view.is_head:
        found.append(("save.copy_to", path_on_node(context.run, context.run.saved(copy_to)) or ""))
    return found
