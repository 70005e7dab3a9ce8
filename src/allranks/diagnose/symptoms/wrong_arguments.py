"""The training's arguments or its configuration are wrong.

## How it is found
argparse's `error: unrecognized arguments`, `error: the following arguments are required`, `invalid
choice`, `Some specified arguments are not used by the HfArgumentParser`, `Some keys are not used by the
HfArgumentParser`, Hydra's `Could not override`, `ConfigAttributeError`, pydantic's `validation error
for`.

Easily confused with launch-args-mismatch, where nodes were started differently; deepspeed-config-mismatch.

## Why it matters
The program ended while it read its arguments, before any training; the other nodes then waited for it.

## What to do
Correct the option that the line names. Options move between versions: compare with `--help` of the
version that is installed on the nodes.

Topic: settings
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
PATTERNS = (
    Pattern("error: unrecognized arguments"),
    Pattern("error: the following arguments are required"),
    Pattern("error: argument", r"error: argument \S{1,80}: (?:invalid|expected|not allowed|ignored)"),
    Pattern("HfArgumentParser", r"not used by the HfArgumentParser"),
    Pattern("Could not override", weight=94),
    Pattern("ConfigAttributeError", raised=True, weight=94),
    Pattern("ConfigKeyError", raised=True, weight=94),
    Pattern("validation error for", r"^\d{1,3} validation errors? for (?!DeepSpeed)", weight=80),
    Pattern("No such option", r"(?:Error|error): No such option", weight=94),
)
