"""Weights were loaded into ZeRO-3's empty parameters.

## How it is found
`size mismatch for *: copying a param with shape torch.Size([4096, 4096]) from checkpoint, the shape in
current model is torch.Size([0])`.

Easily confused with a true size mismatch, which names two shapes, neither of them `torch.Size([0])`.

## Why it matters
Under ZeRO-3 each rank holds a slice, and the parameter itself is empty; load_state_dict cannot fill it.

## What to do
Load through from_pretrained with the DeepSpeed configuration in place, or inside
deepspeed.zero.GatheredParameters.

## Source
PyTorch 2.13 raises `size mismatch for … copying a param with shape` in `torch/nn/modules/module.py` and
`'weight' must be 2-D` in `torch/_decomp/decompositions.py`.

Topic: checkpoints
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.symptom import CRASH, Pattern
from allranks.diagnose.symptoms.checkpoint_corrupt_resume_fail import CAUSE as CHECKPOINT_CORRUPT_RESUME_FAIL
from allranks.diagnose.symptoms.distributed_checkpoint_mismatch import (
    CAUSE as DISTRIBUTED_CHECKPOINT_MISMATCH,
)

CAUSE = Cause(__name__, explains=(CHECKPOINT_CORRUPT_RESUME_FAIL, DISTRIBUTED_CHECKPOINT_MISMATCH))
PATTERNS = (
    Pattern("must match the size of tensor", r"size of tensor [ab] \(0\)", weight=CRASH + 8, raised=True),
    Pattern("shape in current model is torch.Size", r"current model is torch\.Size\(\[0\]\)"),
    Pattern(  # a placeholder of DeepSpeed's first versions in place of a matrix
        "copying a param with shape",
        r"torch\.Size\(\[\d{1,9}, \d[\d, ]{0,40}\]\) from checkpoint, the shape in current model is "
        r"torch\.Size\(\[1\]\)",
        weight=96,
    ),
    Pattern("weight", r"'weight' must be 2-D"),
)
