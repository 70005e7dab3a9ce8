"""The checkpoint to resume from is not on every node.

## What it looks at
The folder that `resume` names, on every machine: whether it is there, and empty or not.

## Why it matters
Each rank reads its own part of a ZeRO checkpoint from its own node: one node without the folder ends the run
with "Can't find a valid checkpoint", or begins anew on that node alone.

## What to do
Copy the checkpoint to every node (`allranks checkpoints fetch` brings the parts together), or resume from
storage that all nodes share.

## Source
DeepSpeed 0.19 `runtime/engine.py` `load_checkpoint`; transformers 5.6 `integrations/deepspeed.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks.asking import place
from allranks.checks.case import fires, silent
from allranks.checks.context import Context, mapping
from allranks.words import Finding

NEEDS = ("storage.paths",)


def applies(context: Context) -> bool:
    return bool(context.run.resume) and context.run.resume not in ("auto", "true", "false")


def check(context: Context) -> Iterator[Finding]:
    path = place(context.run, str(context.run.resume)) or ""
    for view in context.machines:
        state = mapping(view.map("storage.paths").get(path))
        if state and not state.get("exists"):
            yield context.block(
                view,
                key="resume",
                saw=f"{path} is not on {view.name}",
                expected="the checkpoint on every node",
                why="its ranks would find nothing to resume from.",
                fix=f"copy it to {view.name}, or resume from storage that all nodes share",
            )


RESUME = {"run/resume": "/home/ubuntu/runs/old/checkpoint-50"}
PLACE = ("*", "storage", "paths", "/home/ubuntu/runs/old/checkpoint-50")
CASES = (
    fires("cpu", {**RESUME, PLACE: {"exists": False, "writable": True}}, node="node-1", verdict="block"),
    silent("cpu", {**RESUME, PLACE: {"exists": True, "writable": True}}),
    silent("cpu", {"run/resume": "auto"}),
)
