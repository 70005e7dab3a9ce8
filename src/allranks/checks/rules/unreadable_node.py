"""A node could not be asked anything.

## How it is found
Whether each node of the run answered at all.

## Why it matters
torchrun starts only when all nodes have joined: with one missing, the others wait for `join_timeout`
(600 s by default) and then end. Nothing is known about a node that does not answer, so it is not ready.

## What to do
The finding names the cause and its fix. Causes are: no key, a refused or locked key, an unknown or changed host
key, a wrong port, no route, an unresolved name, too few sessions (MaxSessions), a home folder that is not
writable. The finding names the user and the port that were tried. Or take the node out of `nodes`.

## Source
torch 2.13, `torch/distributed/elastic/rendezvous/dynamic_rendezvous.py`: `join` timeout 600 s.

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View
from allranks.core import UNKNOWN


def check(context: Context) -> Findings:
    for view in context.views:
        reason = view.facts.unreadable.get("node")
        if reason is not None:
            yield context.say(
                UNKNOWN,
                view,
                saw=f"{named(view)} could not be asked: {told(view, reason)}",
                expected="every node answers",
                why="nothing is known of it, and it is the only node."
                if len(context.views) == 1
                else f"{everybody(len(context.views))} nodes must join before the first step; without this one the "
                "others wait 600 s and end.",
                fix=fix_of(view, alone=len(context.views) == 1),
            )


def named(view: View) -> str:
    """The node with its address, if that is another word."""
    return view.name if view.name == view.node.address else f"{view.name} ({view.node.address})"


def everybody(count: int) -> str:
    return "both" if count == 2 else f"all {count}"


def fix_of(view: View, alone: bool) -> str:
    """The transport's fix for this cause; if it has none, a login by hand."""
    fix = view.text("asked.fix") or f"reach {view.node.address} by hand"
    return fix if alone else f"{fix}; or take {view.name} out of nodes"


def told(view: View, reason: str) -> str:
    """The reason without the node's name and address, which the sentence already has."""
    for prefix in (f"{view.name}: ", f"{view.node.address}: "):
        reason = reason.removeprefix(prefix)
    return reason
