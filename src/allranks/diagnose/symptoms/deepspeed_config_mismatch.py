"""The DeepSpeed configuration contradicts itself or the run.

## How it is found
`Check batch related parameters. train_batch_size is not equal ... A != m * g * w` (w is the real world
size: 1 means a wrong launcher), `'>' not supported between instances of 'str' and 'int'` ("auto" without
the HF Trainer), `bfloat16 and fp16 modes cannot be simultaneously enabled`, `Please correct the following
DeepSpeed config values`.

Easily confused with launch-args-mismatch, where w is not the world size that was meant.

## Why it matters
DeepSpeed refuses the configuration on every rank before anything is trained.

## What to do
Put "auto" where the Trainer knows the value and numbers where it does not; one of fp16 and bf16; with a
wrong w look at the launcher. `deepspeed: auto` in the run file writes a fitting one.

## Source
DeepSpeed 0.19.8 raises `Check batch related parameters` and `cannot be simultaneously enabled` in
`runtime/config.py`. transformers 5.6.0 raises `DeepSpeed config values that mismatch` in
`integrations/deepspeed.py`; accelerate 1.11.0 has the same text in `utils/dataclasses.py`. The other texts
are as people posted them in public reports.

Topic: settings
"""

from __future__ import annotations

from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import WEAK, Pattern

CLAIM = Claim(
    needs_message=True,
    frame=(
        r"/deepspeed/runtime/engine\.py in _(?:configure|do_\w{0,20}sanity|do_\w{0,20}args|validate)\w{0,40}$|"
        r"/deepspeed/runtime/(?:\w{1,30}/)?config\w{0,20}\.py in|/integrations/deepspeed\.py in "
        r"(?!\w{0,40}checkpoint)"
        r"|/accelerate/utils/deepspeed\.py in|accelerate/utils/dataclasses\.py in \w{0,40}deepspeed"
    ),
    subject=r"(?i)deepspeed(?![-/]\w|.{0,80}pdsh)|\boffload(?:ing|ed)?[_ ](?:device|optimizer|param)|\bnvme_path\b"
    r"|\bzero[-_ ]?(?:stage|optimi|3|2)|\bds_config",
    settles=(
        r"(?i)\bdeepspeed optimizer\b"
        r"|\b(?:supported|compatible|works?|allowed) (?:with|by|in|for|under) (?:zero[- ]?)?stage[- ]?\d\b"
    ),
)
PATTERNS = (
    Pattern(
        "MisconfigurationException",
        r"(?i)MisconfigurationException: .{0,200}deepspeed",
        raised=True,
        weight=94,
    ),
    Pattern("Check batch related parameters"),
    Pattern(
        "not supported between instances of",
        r"'[<>]=?' not supported between instances of 'str' and '(?:int|float)'",
        weight=90,
    ),
    Pattern("cannot be simultaneously enabled"),
    Pattern("DeepSpeed config values that mismatch"),
    Pattern("DeepSpeedConfigError"),
    Pattern("existing deepspeed config"),
    Pattern("parameters have dtype that is not", weight=90),
    Pattern("valid deepspeed config", r"(?i)(?:not|in)\w{0,60} .{0,40}valid deepspeed config"),
    Pattern("DeepSpeedZeroConfig"),
    Pattern("validation error", r"for DeepSpeed\w{0,60}Config"),
    Pattern("zero_optimization", r"Error.{0,200}zero_optimization", raised=True),
    Pattern("expected in the DeepSpeed", weight=WEAK),
    Pattern("gradient_accumulation_steps", r"(?:Train|Micro|Gradient)\w{0,60}.{0,60}has to be greater than"),
    Pattern(
        "has to be greater than",
        r"(?:Train batch size|Micro batch size per gpu|Gradient accumulation steps): ",
    ),
    Pattern("auto", r"(?i)'auto' .{0,80}deepspeed|deepspeed.{0,80}['\"]auto['\"]", raised=True),
)
