"""An argument of the trainer has no effect.

## How it is found
The keys of `train.llamafactory` that the installed versions accept and do not read.

## Why it matters
The setting has no effect. (`logging_dir`, which transformers 5.6 no longer reads, does have an effect: the run
sets TENSORBOARD_LOGGING_DIR to it.)

## What to do
Use the replacement that the finding gives.

## Source
torchrun sets LOCAL_RANK, which transformers 5.6 `training_args.py` reads; `integrations/integration_utils.py` reads
TENSORBOARD_LOGGING_DIR.

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.lint import VOID
from allranks.checks.lint.run_settings import argument_lines

UNKNOWN_BLOCKS = False


def check(context: Context) -> Findings:
    for line, where in argument_lines(context):
        if line.status == VOID:
            yield context.note(
                where,
                saw=f"train.llamafactory.{line.name} has no effect: {line.why}",
                expected="arguments that something reads",
                why="it has no effect.",
                fix=line.do,
            )
