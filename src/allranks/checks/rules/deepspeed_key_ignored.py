"""DeepSpeed ignores a key of its JSON, or no longer has it, or the key costs speed.

## How it is found
The top keys of the user's own DeepSpeed JSON: unknown ones, ones that current versions have removed, and
`wall_clock_breakdown`. (Blocks without effect under transformers, contradictions to the trainer's arguments and
unknown keys of `zero_optimization` are the planner's findings.) A removed key that the installed DeepSpeed accepted
when it was asked is a note.

## Why it matters
DeepSpeed does not warn about a top-level key that it does not know: the key has no effect. Removed ones end every rank.
`wall_clock_breakdown` synchronizes the GPU many times per step.

## What to do
The nearest right key, which the finding gives, or take it out.

## Source
DeepSpeed 0.19.8 `runtime/config.py` (`_initialize_params`, `_reject_removed_config_keys`).

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.lint import COSTLY, VOID, WRONG
from allranks.checks.lint.deepspeed import IGNORED, TOP
from allranks.checks.lint.run_settings import deepspeed_lines
from allranks.core import BLOCK, NOTE
from allranks.plan import library_trial
from allranks.plan.deepspeed_keys import VOID as PLANNERS

UNKNOWN_BLOCKS = False


def check(context: Context) -> Findings:
    facts = [view.facts for view in context.views]
    taken = library_trial.accepted(context.run, context.deepspeed, facts)
    for line, where in deepspeed_lines(context):
        top = line.name.partition(".")[0]
        if top in PLANNERS or (line.name != top and (line.status != WRONG or "refuses it" not in line.why)):
            continue
        if line.status == WRONG:
            yield context.say(
                NOTE if taken else BLOCK,
                where,
                saw=f"{line.name}: {line.why}",
                expected="keys of the installed version",
                why="every rank would end at deepspeed.initialize.",
                fix=line.do,
            )
        elif line.status == VOID and (top in IGNORED or top not in TOP):
            yield context.warn(
                where,
                saw=f"{line.name}: {line.why}",
                expected="keys that DeepSpeed reads",
                why="it has no effect.",
                fix=line.do,
            )
        elif line.status == COSTLY:
            yield context.note(
                where,
                saw=f"{line.name} is on",
                expected="off, but for the run that is measured",
                why=f"it {line.why}.",
                fix=line.do,
            )
