"""A run that may have to resume saves nothing to resume from.

## How it is found
`save_only_model: true` together with `resume`, `launch.restarts` or `launch.spares`.

## Why it matters
`save_only_model` leaves out the optimizer's states: a restart begins the schedule and Adam's moments again, or
fails with "Can't find a valid checkpoint".

## What to do
`save_only_model: false` (for LoRA the states are 12 bytes per trainable parameter), or give up restarts.

## Source
transformers 5.6 `trainer.py` `_save_checkpoint`; DeepSpeed needs its optimizer states to resume.

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings

UNKNOWN_BLOCKS = False


def check(context: Context) -> Findings:
    wanted = [
        text
        for text, there in (
            (f"resume: {context.run.resume}", context.run.resume == "auto"),
            (f"launch.restarts: {context.run.launch.restarts}", context.run.launch.restarts > 0),
            (f"launch.spares: {context.run.launch.spares}", context.run.launch.spares > 0),
        )
        if there
    ]
    if wanted and context.arguments.get("save_only_model") is True:
        yield context.warn(
            "train.llamafactory.save_only_model",
            saw=f"save_only_model: true, and {', '.join(wanted)}",
            expected="optimizer states in the checkpoints of a run that may be resumed",
            why="a restart would begin Adam's moments and the schedule again, or find no checkpoint.",
            fix="save_only_model: false",
        )
