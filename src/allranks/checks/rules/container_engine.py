"""The container engine of the run is not on a node, or does not answer.

## How it is found
`container.engine` on every node: whether the program is there, and for Docker whether its daemon answers the
run's user.

## Why it matters
No rank can be started on that node, and the others wait for it.

## What to do
Install the engine, start its daemon (`systemctl start docker`), or put the user into the group `docker` (which
gives root's rights on that node) and log in again; Podman and Apptainer need no daemon.

## Source
The engine's own `--version` and `docker version`.

Topic: software
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings

NEEDS = ("containers.engine",)


def applies(context: Context) -> bool:
    return context.run.container is not None


def check(context: Context) -> Findings:
    wanted = context.run.container.engine if context.run.container else ""
    for view in context.machines:
        engine = view.map("containers.engine")
        if not engine:
            continue
        if not engine.get("path"):
            saw, fix = f"{wanted} is not installed on {view.name}", f"install {wanted} on {view.name}"
        elif engine.get("trouble"):
            saw = f"{wanted} does not answer on {view.name}: {engine['trouble']}"
            fix = f"systemctl start {wanted} on {view.name}, or let the run's user use it"
        else:
            continue
        yield context.block(
            view,
            key="container.engine",
            saw=saw,
            expected=f"{wanted} that answers the run's user",
            why="no rank can be started there, and all others wait for it.",
            fix=fix,
        )
