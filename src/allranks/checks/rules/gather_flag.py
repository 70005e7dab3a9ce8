"""The setting for saving whole weights under ZeRO-3 does not suit this run.

## How it is found
`stage3_gather_16bit_weights_on_model_save` of the DeepSpeed JSON together with what is trained and the
installed transformers.

## Why it matters
Full training with the flag off writes no whole model, only shards that `zero_to_fp32.py` must put together.
LoRA with transformers before 5 and the flag off writes an adapter of 40 bytes without a tensor; allranks
saves adapters itself; a script that runs without allranks does not.

## What to do
`true` for full training. For LoRA leave it off and let allranks save, which gathers what trains and nothing
else: for a 671 B model `true` collects 1.3 TB on rank 0 at each save.

## Source
DeepSpeed 0.19 `runtime/engine.py` `save_16bit_model`; seen with transformers 4.52.4 and 5.23 (40 bytes, 30
tensors).

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.lint.run_settings import is_old_transformers
from allranks.core.untrusted import mapping

UNKNOWN_BLOCKS = False
KEY = "stage3_gather_16bit_weights_on_model_save"


def applies(context: Context) -> bool:
    return context.llamafactory and context.zero_stage == 3


def check(context: Context) -> Findings:
    section = mapping(context.deepspeed.get("zero_optimization"))
    gathers = bool(section.get(KEY, section.get("stage3_gather_fp16_weights_on_model_save", False)))
    method = context.arguments.get("finetuning_type", "lora")
    if method == "full" and not gathers:
        yield context.warn(
            "deepspeed",
            saw=f"full training under ZeRO-3, and {KEY} is off",
            expected="true",
            why="no whole model is saved: only shards, which zero_to_fp32.py must put together.",
            fix=f'"zero_optimization": {{"{KEY}": true}}',
        )
    elif method == "lora" and not gathers and is_old_transformers(context) and context.users_deepspeed:
        yield context.note(
            "deepspeed",
            saw=f"LoRA under ZeRO-3 with transformers before 5, and {KEY} is off",
            expected="true for a start without allranks",
            why="allranks saves the adapter itself; a script started without it would save 40 bytes and no tensor.",
            fix=f'leave it, or "zero_optimization": {{"{KEY}": true}} for scripts of plan --render',
        )
