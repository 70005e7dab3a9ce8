"""The training environment cannot be imported on a node.

## How it is found
Whether torch, and for a LLaMA-Factory run also DeepSpeed, transformers, PEFT and LLaMA-Factory's trainer,
really import in the training environment of every node.

## Why it matters
A version that is installed says nothing about a library that it needs: a missing `libcudart`, a package
built for another torch, a half-finished install. Each ends that node's ranks a minute after the launch,
while the other nodes wait in the rendezvous.

## What to do
Run the same import by hand with that Python and fix its error, or install the environment again.

## Source
The node's own Python, which was asked to import them.

Topic: software
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_host
from allranks.core.untrusted import mapping

NEEDS = ("imports.modules",)
applies = on_host


def check(context: Context) -> Findings:
    for view in context.machines:
        for module, outcome in view.map("imports.modules").items():
            outcome = mapping(outcome)
            if "error" not in outcome:
                continue
            place = f" ({outcome['file']}:{outcome.get('line')})" if outcome.get("file") else ""
            python = view.text("software.python.executable") or "python"
            yield context.block(
                view,
                saw=f"import {module} fails on {view.name}: {outcome['error']}{place}",
                expected=f"{module} imports",
                why="this node's ranks would end with it while all others wait for them.",
                fix=f"{python} -c 'import {module}' on {view.name} shows the same; install what it misses",
            )
            break  # what is imported after it mostly fails for the same reason
