"""The DeepSpeed JSON of your own script has keys that DeepSpeed refuses, ignores or cannot fill.

## How it is found
JSON files that `train.command` names, read as a DeepSpeed configuration without transformers.

## Why it matters
`"auto"` is replaced by transformers alone: DeepSpeed itself fails over it. A key that it does not know in
`zero_optimization` ends every rank; one at the top, such as `moe`, is ignored without a word.

## What to do
Numbers in place of `auto`; the nearest right key, which the finding gives.

## Source
DeepSpeed 0.19.8 `runtime/config.py`, `runtime/zero/config.py`; transformers `integrations/deepspeed.py`.

Topic: settings
"""

from __future__ import annotations

from allranks.checks import scripts
from allranks.checks.context import Context, Findings
from allranks.checks.lint import VOID, WRONG
from allranks.checks.lint.deepspeed import lines
from allranks.checks.lint.run_settings import accepted
from allranks.core import Where

UNKNOWN_BLOCKS = False
MARKS = (
    "zero_optimization",
    "train_micro_batch_size_per_gpu",
    "train_batch_size",
    "gradient_accumulation_steps",
)


def applies(context: Context) -> bool:
    return context.run.train.kind == "command"


def check(context: Context) -> Findings:
    for path, config in scripts.json_files(context):
        if not any(mark in config for mark in MARKS):
            continue  # another program's
        for line in lines(config, transformers=False, zero_keys=accepted(context, "zero_keys")):
            if line.status in (WRONG, VOID):
                say = context.block if line.status == WRONG else context.warn
                yield say(
                    Where(file=path),
                    saw=f"{line.name}: {line.why}",
                    expected="keys and values that DeepSpeed itself reads",
                    why="every rank would end at deepspeed.initialize."
                    if line.status == WRONG
                    else "it has no effect.",
                    fix=line.do,
                )
