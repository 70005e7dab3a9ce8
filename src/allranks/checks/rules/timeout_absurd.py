"""The time-out of collectives is far too long, or too short.

## How it is found
`ddp_timeout` (seconds) of the trainer and DEEPSPEED_TIMEOUT (minutes).

## Why it matters
LLaMA-Factory's own ZeRO-3 examples say 180,000,000 s, which is 5.7 years: one rank that hangs holds all others,
and the whole allocation, for as long. Below some ten minutes the first step is in danger: rank 0 of each node
tokenizes the dataset while the others wait in a collective, and loading a large model takes as long.

## What to do
1800 (30 minutes, the default), or somewhat more than the longest tokenizing and loading take.

## Source
transformers 5.6 `ddp_timeout` (default 1800); LLaMA-Factory `examples/train_lora/*_ds3.yaml`; DeepSpeed
`constants.py`.

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.core.quantities import in_seconds
from allranks.core.untrusted import number

UNKNOWN_BLOCKS = False

LONGEST = 86400.0
"""A day. Nobody waits longer for one collective."""

SHORTEST = 300.0
"""Tokenizing a dataset of some million samples takes longer."""


def check(context: Context) -> Findings:
    found = [("train.llamafactory.ddp_timeout", "ddp_timeout", number(context.arguments.get("ddp_timeout")))]
    minutes = context.environment(context.head).get("DEEPSPEED_TIMEOUT", "")
    found.append(
        ("env.DEEPSPEED_TIMEOUT", "DEEPSPEED_TIMEOUT", float(minutes) * 60 if minutes.isdigit() else None)
    )
    for key, name, seconds in found:
        if seconds is None:
            continue
        if seconds > LONGEST:
            years = seconds / 86400 / 365
            yield context.warn(
                key,
                saw=f"{name} is {in_seconds(seconds) if years < 1 else f'{years:.1f} years'}",
                expected="1800 s, or somewhat more than tokenizing and loading take",
                why="one rank that hangs would hold all others for as long.",
                fix="ddp_timeout: 1800" if name == "ddp_timeout" else "DEEPSPEED_TIMEOUT: 30",
            )
        elif seconds < SHORTEST:
            yield context.warn(
                key,
                saw=f"{name} is {in_seconds(seconds)}",
                expected=f"at least {SHORTEST:.0f} s",
                why="rank 0 tokenizes while the others wait in a collective: they would end it there.",
                fix="ddp_timeout: 1800" if name == "ddp_timeout" else "DEEPSPEED_TIMEOUT: 30",
            )
