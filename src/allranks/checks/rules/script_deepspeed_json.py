"""The DeepSpeed JSON of your own script has keys that DeepSpeed or the trainer refuses, ignores or cannot fill.

## How it is found
JSON files that `train.command` names, read as a DeepSpeed configuration. After `--deepspeed`, the argument of
transformers' trainer, `"auto"` is filled in; after `--deepspeed_config`, DeepSpeed's own, it is not; after any
other option, unknown, and `"auto"` is a warning. OneBitAdam, ZeroOneAdam and OneBitLamb with ZeRO, and
prescale_gradients with ZeRO-3, which DeepSpeed's engine refuses after its configuration accepted them. Batch sizes,
learning rates and steps after `--deepspeed` that differ between the JSON and the command, which transformers
refuses. If the node's DeepSpeed was asked about the file and accepted it, its keys are not judged
(`library-refuses` tells what it refused).

## Why it matters
`"auto"` is replaced by transformers alone: DeepSpeed itself fails over it. A key that it does not know in
`zero_optimization` ends every rank; one at the top, such as `moe`, is ignored without a message. transformers raises
ValueError if the JSON and its own arguments differ.

## What to do
Numbers in place of `auto`; the nearest right key, which the finding gives; `"auto"` for a value that the command gives.

## Source
DeepSpeed 0.19.8 `runtime/config.py`, `runtime/zero/config.py`, 0.16.9 `runtime/engine.py`;
transformers `integrations/deepspeed.py`.

Topic: settings
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.checks import scripts
from allranks.checks.context import Context, Findings
from allranks.checks.fact_request import deepspeed_json, flags
from allranks.checks.lint import VOID, WRONG
from allranks.checks.lint.deepspeed import lines
from allranks.checks.lint.run_settings import accepted
from allranks.core import Where
from allranks.core.untrusted import mapping
from allranks.node.facts.imports import DEEPSPEED_MARKS
from allranks.plan import deepspeed_keys, library_trial

UNKNOWN_BLOCKS = False


def applies(context: Context) -> bool:
    return context.run.train.kind == "command"


def check(context: Context) -> Findings:
    named = deepspeed_json(context.run)
    taken = library_trial.accepted(context.run, None, [view.facts for view in context.machines])
    for path, config in scripts.json_files(context):
        if not any(mark in config for mark in DEEPSPEED_MARKS):
            continue  # another program's
        asked, filled = (path == named[0], named[2]) if named else (False, False)
        zero_keys = accepted(context, "zero_keys")
        for line in lines(config, transformers=asked and filled, zero_keys=zero_keys):
            if asked and taken and line.status == WRONG and line.value != "auto":
                continue
            if line.status in (WRONG, VOID):
                is_sure = line.status == WRONG and (asked or line.value != "auto")
                say = context.block if is_sure else context.warn
                yield say(
                    Where(file=path),
                    saw=f"{line.name}: {line.why}",
                    expected="keys and values that DeepSpeed itself reads",
                    why="it has no effect."
                    if line.status == VOID
                    else "every rank would end at deepspeed.initialize."
                    if is_sure
                    else "if the script hands this file to DeepSpeed itself, every rank would end there.",
                    fix=line.do,
                )
        yield from refused_later(context, path, config, asked and filled)
        if asked and filled:
            yield from contradicted(context, path, config)


def contradicted(context: Context, path: str, config: Mapping[str, Any]) -> Findings:
    """Numbers that differ between the JSON and the command's own arguments of transformers' trainer."""
    words = {name[2:]: value for name, value in flags(list(context.run.train.command)) if name[:2] == "--"}
    world = context.run.cluster.world_size
    for key, value, name, wanted in deepspeed_keys.script_contradictions(words, config, world):
        yield context.block(
            Where(file=path),
            saw=f"{key} {value} against {name} {wanted:g}",
            expected="one value in both places",
            why="transformers raises ValueError if the JSON and the training arguments differ.",
            fix=f'"{key.rpartition(".")[2]}": "auto"',
        )


def refused_later(context: Context, path: str, config: Mapping[str, Any], trainer: bool) -> Findings:
    """What DeepSpeed's configuration accepts and its engine refuses under ZeRO, when it makes the optimizer."""
    zero = mapping(config.get("zero_optimization"))
    if not zero.get("stage"):
        return
    for saw, why, fix in deepspeed_keys.refused_by_engine(config):
        say = context.block if trainer else context.warn
        yield say(
            Where(file=path),
            saw=f"{saw}, with zero_optimization.stage: {zero.get('stage')}",
            expected="a value that DeepSpeed's engine takes with ZeRO",
            why=why
            if trainer
            else f"{why} If the script leaves the optimizer to DeepSpeed, every rank ends at deepspeed.initialize.",
            fix=fix,
        )
