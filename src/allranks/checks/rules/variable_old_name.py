"""A variable in `env` has an old name.

## How it is found
Names in `env` that torch or Hugging Face have renamed.

## Why it matters
They still work if the installed version reads both, with a warning per rank, and stop working with the next
one.

## What to do
Write the new name, which the finding gives.

## Source
torch 2.2 renamed `NCCL_ASYNC_ERROR_HANDLING` and others to `TORCH_NCCL_…`; huggingface_hub renamed its cache
variables; transformers 5 reads no `TRANSFORMERS_CACHE`.

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.lint import VOID
from allranks.checks.lint.run_settings import variable_lines
from allranks.checks.lint.variables import RENAMED

UNKNOWN_BLOCKS = False


def check(context: Context) -> Findings:
    for line, where in variable_lines(context):
        if line.name in RENAMED and line.status != VOID:
            yield context.note(
                where,
                saw=f"{line.name} is {line.why}",
                expected=RENAMED[line.name],
                why="it stops working with one of the next versions.",
                fix=line.do,
            )
