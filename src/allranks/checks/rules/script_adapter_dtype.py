"""The script's adapter gets another type than its base.

## How it is found
`get_peft_model` without `autocast_adapter_dtype=False` in the training script, together with DeepSpeed 0.19.2
or later.

## Why it matters
PEFT casts the adapter of a bf16 base to fp32 by itself. These versions of DeepSpeed then end the first step on
all ranks with a TypeError about the types of input and output.

## What to do
`get_peft_model(model, config, autocast_adapter_dtype=False)`. LLaMA-Factory does so under ZeRO-3.

## Source
trl#6091; PEFT `get_peft_model` (autocast_adapter_dtype, default True).

Topic: settings
"""

from __future__ import annotations

import ast

from allranks.checks import scripts, versions
from allranks.checks.context import Context, Findings
from allranks.core import Where

UNKNOWN_BLOCKS = False
applies = scripts.applies

SINCE = (0, 19, 2)


def check(context: Context) -> Findings:
    found = scripts.seen(context)
    if found is None:
        return
    view, tree = found
    installed = view.text("software.versions.deepspeed")
    if not versions.at_least(installed, SINCE) or not uses_deepspeed(tree):
        return
    for call in scripts.calls(tree, "get_peft_model"):
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        value = named.get("autocast_adapter_dtype")
        if not (isinstance(value, ast.Constant) and value.value is False):
            yield context.warn(
                Where(file=scripts.path_of(context), line=call.lineno),
                saw=f"get_peft_model casts the adapter to fp32, and DeepSpeed is {installed}",
                expected="autocast_adapter_dtype=False",
                why="on a bf16 base the first step ends with a TypeError, on all ranks.",
                fix=f"{ast.unparse(call)[:-1]}, autocast_adapter_dtype=False)",
            )


def uses_deepspeed(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(
            name.name.split(".")[0] == "deepspeed" for name in node.names
        ):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "deepspeed":
            return True
    return False
