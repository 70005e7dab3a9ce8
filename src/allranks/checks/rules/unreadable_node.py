"""A node could not be asked anything.

## What it looks at
Whether each node of the run answered at all.

## Why it matters
torchrun starts only when all nodes have joined: with one missing, the others wait for `join_timeout`
(600 s by default) and then end. Nothing is known about a node that does not answer, so it is not ready.

## What to do
Reach it by hand with the same address, user and key (the finding names what was tried), or take the node
out of `nodes`.

## Source
torch 2.13, `torch/distributed/elastic/rendezvous/dynamic_rendezvous.py`: `join` timeout 600 s.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks.context import Context, View
from allranks.core import UNKNOWN, Finding


def check(context: Context) -> Iterator[Finding]:
    for view in context.views:
        reason = view.facts.unreadable.get("node")
        if reason is not None:
            yield context.say(
                UNKNOWN,
                view,
                saw=f"{view.name} ({view.node.address}) could not be asked: {told(view, reason)}",
                expected="every node answers",
                why=f"all {len(context.views)} nodes must join before the first step; without this one the others "
                "wait 600 s and end.",
                fix=f"reach {view.node.address} by hand, or take {view.name} out of nodes",
            )


def told(view: View, reason: str) -> str:
    """The reason without the name and address that the sentence says already."""
    for prefix in (f"{view.name}: ", f"{view.node.address}: "):
        reason = reason.removeprefix(prefix)
    return reason
