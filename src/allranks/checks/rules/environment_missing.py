"""The training environment's Python does not answer on a node.

## How it is found
Whether the Python of `environment.python` (or `python3`) starts on every node, and is 3.8 or newer.

## Why it matters
torchrun is started with it. If it is missing, that node never joins and the others wait for 600 s.

## What to do
Give `environment.python` a path that exists on every node, install the environment there, or mount it.

## Source
torch 2.13, `torch/distributed/run.py`.

Topic: software
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_host

applies = on_host


def check(context: Context) -> Findings:
    for view in context.machines:
        reason = view.facts.why_unreadable("software.python")
        if reason is not None and not view.has("software.python"):
            yield context.block(
                view,
                key="environment.python",
                saw=f"the training environment's Python does not answer on {view.name}: {reason}",
                expected="a Python of 3.8 or newer that starts",
                why="torchrun is started with it: this node would never join.",
                fix="environment: {python: /path/to/env/bin/python}, a path that exists on every node",
            )
