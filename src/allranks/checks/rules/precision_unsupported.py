"""The GPUs have no instructions for the precision that the run sets.

## How it is found
`bf16: true` against the compute capability of the GPUs that the run uses, by their model's name or by the
architecture that nvidia-smi names.

## Why it matters
bfloat16 needs compute capability 8.0 (A100, RTX 30) or newer. On T4 and V100 torch emulates it since 2.3, which is
slow; with an older one transformers ends with "Your setup doesn't support bf16/gpu".

## What to do
`fp16: true` in place of `bf16: true`, or other GPUs.

## Source
torch `torch.cuda.is_bf16_supported`; NVIDIA's table of compute capabilities.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks import gpus, versions
from allranks.checks.context import Context, Findings, on_gpus
from allranks.spec.trainer_yaml import is_on

NEEDS = ("gpus.list",)
applies = on_gpus

LEAST = 8.0
EMULATES = (2, 3)
"""Of torch: since December 2023 `torch.cuda.is_bf16_supported` asks whether bf16 can be represented."""


def check(context: Context) -> Findings:
    if not is_on(context.arguments.get("bf16")):
        return
    for gpu in context.used_gpus:
        capability = gpus.architecture(gpu.model, gpu.get("architecture"))
        if capability is not None and capability < LEAST:
            named = gpu.get("architecture") or f"compute capability {capability}"
            emulates = versions.at_least(gpu.view.text("software.versions.torch"), EMULATES)
            say = context.block if emulates is False else context.warn
            yield say(
                gpu,
                key="train.llamafactory.bf16",
                saw=f"bf16: true, and {gpu} is a {gpu.get('name')} ({named})",
                expected="compute capability 8.0 or newer",
                why="torch emulates bf16 there, which is slow."
                if emulates is not False
                else "transformers ends with: your setup doesn't support bf16/gpu.",
                fix="fp16: true in place of bf16: true",
            )
            return
