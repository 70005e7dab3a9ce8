"""FSDP cannot shard this model as it is wrapped.

## How it is found
`Must flatten tensors with uniform dtype`, `Must flatten tensors with uniform requires_grad`, `FSDP
expects … contiguous`, `FSDP parameter … uneven sharding`, `does not support uneven sharding`, `Could not
find the transformer layer class to wrap`, `got mixed torch.Tensor and DTensor`.

Easily confused with rank-crashed-first, of an exception that is not FSDP's.

## Why it matters
FSDP puts a unit's parameters into one flat buffer, or cuts each by its first dimension. It refuses parameters of
several types, frozen parameters beside trained ones, and sizes that cannot be divided by the number of ranks.

## What to do
LoRA with FSDP 1: `use_orig_params: true`, adapters in the same dtype as the base, PEFT's
`fsdp_auto_wrap_policy`. Wrong class name: `fsdp_transformer_layer_cls_to_wrap` as the model spells it.
Uneven sharding: another number of ranks or a padded vocabulary.

## Source
PyTorch 2.13 raises `Must flatten tensors with` and `Cannot flatten integer dtype tensors` in
`torch/distributed/fsdp/_flat_param.py`, `FSDP does not support uneven sharding` in
`_fully_shard/_fsdp_param.py` and `mixed torch.Tensor and DTensor` in
`torch/distributed/tensor/_dispatch.py`. accelerate 1.11.0 raises `Could not find the transformer layer
class` in `utils/dataclasses.py`.

Topic: settings
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(
    frame=r"/torch/distributed/(?:fsdp|_composable|tensor|_tensor)/|/accelerate/utils/fsdp_utils\.py in",
    subject=r"FSDP|fsdp|fully_shard|FlatParam|auto_wrap|DTensor|\b(?:same|uniform)\b.{0,20}requires_grad",
    code=r"\b(?:FSDP|FullyShardedDataParallel|fully_shard)\(",
)
PATTERNS = (
    Pattern("Must flatten tensors with"),
    Pattern("FSDP instance", r"^\w{1,40}Error: Non-root FSDP instance", weight=90),
    Pattern("Cannot flatten integer dtype tensors"),
    Pattern("uneven sharding", r"(?i)not support.{0,160}uneven|uneven sharding.{0,80}not (?:yet )?supported"),
    Pattern("find the transformer layer class"),
    Pattern("mixed torch.Tensor and DTensor"),
    Pattern("FlatParameter", r"(?:Error|Exception): .{0,200}FlatParameter", raised=True, weight=92),
    Pattern("FSDP", r"^\w{1,40}Error: (?:(?:Expects|Cannot).{0,200})?FSDP", raised=True, weight=90),
)
