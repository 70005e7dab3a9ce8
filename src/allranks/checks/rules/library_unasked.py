"""The training libraries could not be asked about this run's configuration.

## How it is found
Whether each node's libraries answered the question of `library-refuses`: they may be too slow, or of a version that
cannot be asked this way (they then refuse the simplest configuration, too). Facts that were recorded with another
run file, or by an earlier allranks, hold no answer about this one.

## Why it matters
Without their answer only our tables of LLaMA-Factory 0.9.5, transformers 5.6 and DeepSpeed 0.19.8 have judged: a value
that the installed versions refuse ends every rank right after the launch.

## What to do
Read the reason. `--accept library-unasked` continues without them. If the facts were recorded earlier, record them
again.

## Source
The node's own answer (`node/configuration_trial.py`).

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View
from allranks.checks.rules import library_refuses
from allranks.core import UNKNOWN, WARN, Finding
from allranks.core.untrusted import mapping
from allranks.plan.library_trial import Answer, answer_of

applies = library_refuses.applies


def check(context: Context) -> Findings:
    for view in context.machines:
        if not imported(view):
            continue  # environment-import says why
        answer = answer_of(context.run, context.deepspeed, view.facts)
        if answer is None and not context.llamafactory:
            continue  # no DeepSpeed configuration is there: script-missing and the like say why
        if answer is None or answer.refused is None:
            yield unasked(context, view, answer)


def imported(view: View) -> bool:
    modules = view.map("imports.modules")
    return bool(modules) and not any("error" in mapping(outcome) for outcome in modules.values())


def unasked(context: Context, view: View, answer: Answer | None) -> Finding:
    if answer is None:
        return context.say(
            WARN,
            view,
            saw=f"the libraries of {view.name} were not asked about this run's configuration",
            expected="facts that were read for this run file",
            why="only our own tables have judged its arguments and its DeepSpeed JSON.",
            fix="leave --facts out, or record them again: allranks check FILE --save-facts DIR",
        )
    return context.say(
        UNKNOWN,
        view,
        saw=f"the libraries of {view.name} could not be asked about this run's configuration: {answer.said}",
        expected="LLaMA-Factory and DeepSpeed read it without a model",
        why="what they refuse would end every rank right after its start.",
        fix="fix the reason, or continue with --accept library-unasked",
    )
