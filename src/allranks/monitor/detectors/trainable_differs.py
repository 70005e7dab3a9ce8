"""Other parameters train than the plan counted.

## How it is found
A rank's effective number of trainable parameters differs from the plan's.

## Why it matters
The plan's memory, time and adapter size do not apply. Mostly a LoRA target does not exist in any layer, so that
most of the adapter is missing: 22,986,752 parameters instead of 97,006,592 on DeepSeek-V3 with q_proj, k_proj,
v_proj.

## What to do
Compare `lora_target` with the model's module names; `allranks plan` prints what each target would train.

Topic: training
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import BLOCK, Event, Finding, Where
from allranks.monitor.run_state import RunState

AFTER = ("settings",)


def after(run: RunState, event: Event) -> Iterator[Finding]:
    expected, seen = run.expect.get("trainable_parameters"), event.payload.trainable_parameters
    if not expected or seen is None or seen == expected:
        return
    yield Finding(
        id="trainable-differs",
        verdict=BLOCK,
        where=Where(node=event.node, rank=event.rank),
        saw=f"{seen:,} parameters train.",
        expected=f"{expected:,} of the plan",
        why=f"that is {seen / expected:.0%} of what the plan counted: the adapter would not be the one asked for.",
        fix="compare the LoRA targets with the model's module names: allranks plan FILE.",
    )
