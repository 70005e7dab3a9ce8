"""The saved adapter or model is empty.

## How it is found
No log line says it: the adapter file is 40 bytes (safetensors), 443 bytes (bin) or about 100 KB, with ZeRO
stage 3 and LoRA, `stage3_gather_16bit_weights_on_model_save` unset and transformers before 5. When it is loaded:
`copying a param with shape torch.Size([0]) from checkpoint`.

Easily confused with an adapter that is small because its rank is small.

## Why it matters
Under ZeRO-3 an ungathered state dict holds empty tensors: the training is lost.

## What to do
`stage3_gather_16bit_weights_on_model_save: true`, or save through allranks, which gathers what trains
alone; `allranks checkpoints verify PATH` proves a save.

## Source
PyTorch 2.13 raises `copying a param with shape` in `torch/nn/modules/module.py`. peft 0.18.1 warns `Found
missing adapter keys` in `peft_model.py`. The sizes of 40 and 443 bytes are those of empty adapter files in
public reports.

Topic: adapters
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.distributed_checkpoint_mismatch import (
    CAUSE as DISTRIBUTED_CHECKPOINT_MISMATCH,
)

CAUSE = Cause(__name__, explains=(DISTRIBUTED_CHECKPOINT_MISMATCH,))
CLAIM = Claim(
    subject=(
        r"(?i)^(?=.{0,400}(?:\bzero[-_ ]?(?:stage[-_ ]?)?3|\bstage[-_ ]?3|deepspeed|\blora|\badapter_model))"
        r"(?=.{0,400}(?:\bsav(?:e[ds]?|ing)\b|\bstor(?:e[ds]?|ing)\b|\u4fdd\u5b58|\badapter|\bexport))"
        r"(?=.{0,400}(?:\bempty\b|\u4e3a\u7a7a|torch\.size\(\[0\]|\b(?:only|just) \d{1,4} ?(?:bytes?|b|kb"
        r"|k)\b|\u53ea\u6709 ?\d"
        r"|\b\d{1,3} bytes|\u65e0\u6cd5\u4fdd\u5b58|\u662f\u7a7a|\bno (?:weights|tensors|parameters)))"
    ),
)
PATTERNS = (
    Pattern(  # a placeholder of ZeRO-3 in place of a matrix
        "copying a param with shape",
        r"torch\.Size\(\[1\]\) from checkpoint, the shape in current model is torch\.Size\(\[\d{2,9}",
        weight=96,
    ),
    Pattern(
        "adapter_model",
        r"(?<![\d.,])(?:40|443)(?: ?[Bb](?:ytes)?)?\s[^\n]{0,80}adapter_model\.(?:safetensors|bin)",
    ),
    Pattern(
        "adapter_model", r"adapter_model\.(?:safetensors|bin)[^\n]{0,40}?\b(?:40|443) ?(?:[Bb]\b|[Bb]ytes)"
    ),
    Pattern("copying a param with shape", r"torch\.Size\(\[0\]\) from checkpoint", weight=98),
    Pattern("Found missing adapter keys", weight=90),
    Pattern(
        "adapter", r"(?i)torch\.Size\(\[0\]\).{0,80}lora_[AB]|lora_[AB].{0,80}torch\.Size\(\[0\]\)", weight=90
    ),
)
