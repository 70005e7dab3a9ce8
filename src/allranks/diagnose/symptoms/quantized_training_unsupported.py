"""A quantized model cannot be trained in this way.

## How it is found
`You cannot perform fine-tuning on purely quantized models`, `The model you are trying to fine-tune is
quantized with * but that quantization method do not support training`, `.to is not supported for 4-bit or
8-bit bitsandbytes models`, `DeepSpeed ZeRO-3 is incompatible with quantization`, `You can't train a model that has been
loaded in 8-bit precision on a different device`.

Easily confused with lora-target-not-found, where the adapter was asked for but fits no layer.

## Why it matters
Quantized weights hold no gradients: an adapter must be trained on them, by a method and a sharding that
support it.

## What to do
Add a LoRA adapter (QLoRA), with a quantization that supports training (bitsandbytes 4-bit); with ZeRO-3
no quantization unless the trainer says that it is supported; remove `.to()` of the model.

## Source
transformers 5.6.0 raises `fine-tuning on purely quantized models` in `trainer_utils.py`. accelerate 1.11.0
raises `You can't train a model that has been loaded in 8-bit` in `accelerator.py`. LLaMA-Factory 0.9.5
raises `quantization is incompatible with` in `model/model_utils/quantization.py`.

Topic: settings
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(
    frame=r"/(?:bitsandbytes|auto_gptq|gptqmodel|awq|hqq|transformers/quantizers)/.{0,200} in (?!<module>)",
    subject=(
        r"(?i)^(?=.{0,400}(?:\btrain|fine-?tun|\bgrad|backward|lora\b|adapter|peft|\bmerg))"
        r".{0,400}?(?:quanti[sz](?!ed(?:cpu|cuda|meta|xpu|privateuse))|(?<![\w/-])bitsandbytes\b|(?<![\w/-])bnb\b(?!')"
        r"|\b[48][- ]?bit\b|load_in_[48]bit)"
        r"|(?<![\w/-])(?:auto_?)?(?:gptq|awq)\b"
    ),
)
PATTERNS = (
    Pattern("fine-tuning on purely quantized models"),
    Pattern("quantization method do", r"do(?:es)? not support training", weight=98),
    Pattern("train a model that has been loaded in", r"loaded in \d{1,2}-?bit", weight=96),
    Pattern("model you want to train is loaded in", weight=94),
    Pattern("on multiple devices in any distributed mode", weight=96),
    Pattern("is not supported for", r"is not supported for `?[48]-?bit", weight=96),
    Pattern("incompatible with quantization", weight=94),
    Pattern("convert models into mixed-int", weight=94),
    Pattern("fit the quantized model", weight=92),
)
