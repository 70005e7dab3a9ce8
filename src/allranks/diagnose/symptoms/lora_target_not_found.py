"""The LoRA targets exist in no layer of the model.

## How it is found
`Target modules * not found in the base model` (ValueError, in the newest peft NoMatchingPeftModuleError),
`No modules were targeted for adaptation`.

Easily confused with trainable-differs: if some of the names exist, nothing fails, and only a part of the adapter
trains.

## Why it matters
The names belong to another architecture: nothing would be trained.

## What to do
Take the names from the model's own modules (`allranks plan` lists what each would train), or `lora_target:
all`.

## Source
peft 0.18.1 raises `not found in the base model` and `No modules were targeted` in `tuners/tuners_utils.py`,
and `Target module … is not supported` in `tuners/lora/model.py`. The other texts are as people posted them
in public reports.

Topic: settings
"""

from __future__ import annotations

from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import Pattern

CLAIM = Claim(
    subject=r"target[_ ]modules?\b|modules_to_save|lora_target|target_parameters",
)
PATTERNS = (
    Pattern("not found in the base model", r"[Tt]arget modules"),
    Pattern("NoMatchingPeftModuleError"),
    Pattern("No modules were targeted"),
    Pattern("target_modules", r"(?i)Please specify `?target_modules"),
    Pattern("not supported", r"Target module .{1,200} is not supported. Currently, only"),
)
