"""The precision is not available on this device.

## How it is found
`fp16 mixed precision requires a GPU`, `FP16 Mixed precision training … can only be used on CUDA devices`,
`Your setup doesn't support bf16/gpu`, `"addmm_impl_cpu_" not implemented for 'Half'`, `Bfloat16 is only
supported on GPUs with compute capability of at least 8.0`.

Easily confused with no-nvidia-driver and torch-built-without-cuda, of which this may be the consequence.

## Why it matters
bf16 needs an Ampere GPU or newer; fp16 needs a GPU. The same message appears if torch sees no GPU.

## What to do
If GPUs are there: look why torch does not see them (`allranks check`, CUDA_VISIBLE_DEVICES, a torch
without CUDA). Else `bf16: false`, fp16 on older GPUs, fp32 on the CPU.

## Source
accelerate 1.11.0 raises `mixed precision requires` in `accelerator.py`. transformers 5.6.0 raises `Your
setup doesn't support bf16` in `training_args.py`. PyTorch 2.13 raises `Attempting to unscale FP16
gradients` in `torch/amp/grad_scaler.py`. The other texts are as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(
    subject=(
        r"(?i)\b(?:bf16|fp16|bfloat16|fp8|tf32|_?scaled_mm|half precision|mixed[_ ]precision)\b.{0,120}(?:gpu"
        r"|cuda|cpu|device|hardware|(?:supported|available)\W{0,3}$)|\b(?:gpu|device|hardware"
        r"|accelerator)\b.{0,80}\b(?:bf16|fp16"
        r"|bfloat16|float16|fp8|tf32)\b|\bnot support .{0,20}\b(?:bf16|bfloat16|fp8|tf32)\b|\bonly "
        r"supports? .{0,30}\b(?:fp16|float16|bf16|bfloat16)\b"
    ),
    settles=(
        r"(?i)(?:\w{1,20} )?\bcompute[ _]capabilit.{0,80}\b(?:bf16|bfloat16|fp8|tf32)\b"
        r"|\b(?:bf16|bfloat16|fp8|tf32|_scaled_mm)\b.{0,120}\bcompute[ _]capabilit"
    ),
)
PATTERNS = (
    Pattern("requires .target", r"\.b?f\w{2,4}\S{0,20}' requires \.target sm_", weight=94),  # ptxas, LLVM
    Pattern("mixed precision requires a", r"(?:fp|bf)\d{1,2} mixed precision requires", weight=90),
    Pattern("Mixed precision training with AMP", r"can only be used on", weight=90),  # or no GPU is seen
    Pattern("setup doesn't support bf", raised=False, weight=90),
    Pattern("not implemented for 'Half'", weight=92),
    Pattern("is only supported on GPUs with compute capability", weight=92),
    Pattern("Attempting to unscale FP", weight=96),
)
