"""The trainer refuses an argument.

## How it is found
allranks asks the argument parser of the LLaMA-Factory on the nodes whether it accepts the keys of
`train.llamafactory`.

If the parser cannot be asked (the container does not exist yet), allranks compares the keys with the arguments that
the run's transformers dropped, and with the names of LLaMA-Factory 0.9.5. A name that nearly matches is a typing
error, and a warning. If the version of transformers in an image is not known, an argument that some version dropped is
a warning, too: allranks reads the image before the launch.

A name that the installed libraries accepted when they were asked (`library-refuses`) is a note.

## Why it matters
Every rank ends at its start with "Some specified arguments are not used by the HfArgumentParser".
`save_safetensors` of the guides is such a one since transformers 5.

## What to do
Take it out, or write the name that the finding gives.

## Source
LLaMA-Factory 0.9.5 `hparams/parser.py` (`_parse_args` raises ValueError); the dataclasses of the installed
version.

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.lint import WRONG
from allranks.checks.lint.arguments import GONE
from allranks.checks.lint.run_settings import accepted, argument_lines, version
from allranks.core import BLOCK, NOTE, WARN
from allranks.plan import library_trial
from allranks.plan.unknown_model import verdict_unread

UNKNOWN_BLOCKS = False


TAKEN = "; the installed one was asked, and takes it"


def applies(context: Context) -> bool:
    return context.llamafactory and context.run.env.get("ALLOW_EXTRA_ARGS", "0").lower() not in (
        "1",
        "true",
        "y",
    )


def check(context: Context) -> Findings:
    certain = accepted(context, "arguments") is not None
    read = version(context, "transformers") is not None
    facts = [view.facts for view in context.views]
    taken = library_trial.accepted(context.run, context.deepspeed, facts)
    for line, where in argument_lines(context):
        if line.status == WRONG and line.name != "ddp_timeout":
            gone = line.name in GONE
            unread = verdict_unread(context.run, asked=True) if gone else WARN
            verdict = BLOCK if certain or (gone and read) else unread
            yield context.say(
                NOTE if taken else verdict,
                where,
                saw=f"train.llamafactory.{line.name}: {line.why}{TAKEN if taken else ''}",
                expected="arguments that the installed version knows",
                why="every rank would end at its start: 'Some specified arguments are not used'.",
                fix=line.do or "take it out",
            )
