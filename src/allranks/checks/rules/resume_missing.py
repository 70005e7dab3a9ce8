"""The checkpoint to resume from is not where it is read.

## How it is found
Whether the folder that `resume` names is on the head: rank 0 reads a checkpoint of allranks for all ranks. If
`checkpoint-not-resumable` is accepted, the trainer reads its own checkpoint, and each rank reads its part: then the
folder must be on every machine.

## Why it matters
Without the folder the run cannot begin. Of a trainer's own checkpoint, the ranks of that node would miss their part, or
start again from the first step.

## What to do
Copy the checkpoint to the machine that is named, or resume from storage that all nodes share.

## Source
DeepSpeed 0.19 `runtime/engine.py` `load_checkpoint`; transformers 5.6 `integrations/deepspeed.py`.

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.fact_request import path_on_node
from allranks.core.untrusted import mapping

NEEDS = ("storage.paths",)


def applies(context: Context) -> bool:
    return bool(context.run.resume) and context.run.resume not in ("auto", "true", "false")


def check(context: Context) -> Findings:
    path = path_on_node(context.run, context.run.saved(str(context.run.resume))) or ""
    trainers_own = "checkpoint-not-resumable" in context.run.accept
    for view in context.machines if trainers_own else (context.head,):
        state = mapping(view.map("storage.paths").get(path))
        if state and not state.get("exists"):
            yield context.block(
                view,
                key="resume",
                saw=f"{path} is not on {view.name}",
                expected="the checkpoint on every node" if trainers_own else "the checkpoint on the head",
                why="its ranks would find nothing to resume from.",
                fix=f"copy it to {view.name}, or resume from storage that all nodes share",
            )
