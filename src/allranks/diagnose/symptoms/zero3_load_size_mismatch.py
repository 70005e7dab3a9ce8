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
`'weight' must be 2-D` in `torch/_decomp/decompositions.py`. The other texts are as people posted them in public
reports.

Topic: checkpoints
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import CRASH, Pattern
from allranks.diagnose.symptoms.checkpoint_corrupt_resume_fail import CAUSE as CHECKPOINT_CORRUPT_RESUME_FAIL
from allranks.diagnose.symptoms.distributed_checkpoint_mismatch import (
    CAUSE as DISTRIBUTED_CHECKPOINT_MISMATCH,
)

CAUSE = Cause(__name__, explains=(CHECKPOINT_CORRUPT_RESUME_FAIL, DISTRIBUTED_CHECKPOINT_MISMATCH))
CLAIM = Claim(
    subject=(
        r"(?i)^(?!.{0,400}(?:\bsav(?:e[ds]?|ing)\b|\bstor(?:e[ds]?|ing)\b|\bexported\b|\u4fdd\u5b58))"
        r"(?=.{0,400}(?:\bzero[-_ ]?(?:stage[-_ ]?)?3"
        r"|\bstage[-_ ]?3|deepspeed|\bds_))"
        r"(?=.{0,400}(?:\b(?:size|shape)s? (?:mismatch|(?:is|are|of|=) ?\W{0,2}0\b|0\b)|\bempty\b"
        r"|torch\.size\(\[0\]|\(0,?\)"
        r"|\bsize 0\b|\bno elements|\b(?:zero|0)[- ](?:element|size|dim)|\bnumel\b|must be 2-d"
        r"|not (?:been )?gather))"
        r"|\bzeroparamstatus\b|\bds_(?:numel|shape|status|tensor)\b"
    ),
)
PATTERNS = (
    Pattern(
        "load weight (torch.Size", r"load weight \(torch\.Size\(\[0\]\)\)", weight=96
    ),  # vLLM got an empty shard
    # An exception that names a weight without elements, which is most often one that ZeRO-3 has not gathered.
    Pattern("cannot be multiplied", r"[ (]\d{1,9}x0\b|\b0x\d|\b1x0\b", weight=CRASH + 8, raised=True),
    Pattern("for tensor with fewer than", r"Fan in and fan out", weight=CRASH + 8, raised=True),
    Pattern("weight should have at least", weight=CRASH + 8, raised=True),
    Pattern("weight of shape", r"but got weight of shape \[0\]", weight=CRASH + 8, raised=True),
    Pattern("must match the existing size", r"existing size \(0\)", weight=CRASH + 8, raised=True),
    Pattern(
        "is invalid for input of size",
        r"shape '\[(?:-?\d{1,9}, ){0,6}0[,\]]|input of size 0\b",
        weight=CRASH + 8,
        raised=True,
    ),
    Pattern(
        "size mismatch, got",
        r"size mismatch, got .{0,80}\b(?:vec|mat\d?) \((?:0|\d{1,9}x0|0x\d{1,9})\)",
        weight=CRASH + 8,
        raised=True,
    ),
    Pattern(
        "which has shape",
        r"of shape torch\.Size\(\[[1-9].{0,60}which has shape torch\.Size\(\[0\]\)",
        weight=96,
    ),
    Pattern("Padding_idx must be within num_embeddings", weight=CRASH + 8, raised=True),
    Pattern("ds_numel", r"'ds_numel': 0\b|'status': '\w{1,20}', 'numel': 0\b", weight=CRASH + 8, raised=True),
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
