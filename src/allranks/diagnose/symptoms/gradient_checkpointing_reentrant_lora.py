"""Gradient checkpointing cuts LoRA off from the loss.

## How it is found
`element 0 of tensors does not require grad and does not have a grad_fn`, after the warning `None of the
inputs have requires_grad=True`; with DDP `Expected to mark a variable ready only once`.

Easily confused with unused-parameters-ddp.

## Why it matters
The reentrant form of checkpointing needs an input that requires a gradient; with frozen embeddings there is
none, so the adapter gets no gradient.

## What to do
`gradient_checkpointing_kwargs: {use_reentrant: false}`, or model.enable_input_require_grads().

## Source
PyTorch 2.13 prints `None of the inputs have requires_grad` and `Recomputed values for the following
tensors` in `torch/utils/checkpoint.py`. `mark a variable ready only once` and `does not require grad` are
in its `libtorch_cpu.so`.

Topic: settings
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import WEAK, Pattern
from allranks.diagnose.symptoms.unused_parameters_ddp import CAUSE as UNUSED_PARAMETERS_DDP

CAUSE = Cause(__name__, explains=(UNUSED_PARAMETERS_DDP,))
CLAIM = Claim(
    subject=r"(?i)\brequire(?:s|d|ing)?[_ ](?:a )?grad\b|\bgrad_fn\b|\bgradient[_ ]checkpoint\w{0,4}\b"
    r"|\breentrant\b",
)
PATTERNS = (
    # Also of a script that cut the loss off by itself.
    Pattern("of tensors does not require grad", weight=90),
    Pattern("mark a variable ready only once"),
    Pattern("Recomputed values for the following tensors", weight=90),
    Pattern("None of the inputs have requires_grad", weight=WEAK),
)
