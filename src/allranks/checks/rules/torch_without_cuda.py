"""The installed torch is built without CUDA, and the run wants GPUs.

## How it is found
The CUDA version that torch was built for, in the training environment of every node.

## Why it matters
A CPU build finds no GPU: LLaMA-Factory then refuses bf16, or the run trains on the processors at a
thousandth of the speed.

## What to do
Install the CUDA build of the same version. If training on CPUs is meant, ask for it by name: `use_cpu: true` for
LLaMA-Factory, `gpus: {count: 2, model: cpu}` for a script.

## Source
The installed torch's own `version.py`: `cuda` is None in a CPU build.

Topic: software
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings

NEEDS = ("software.torch_cuda", "software.versions")


def applies(context: Context) -> bool:
    # Without any GPU `gpus-missing` says so.
    return context.on_host and context.uses_gpu and any(view.list("gpus.list") for view in context.answered)


def check(context: Context) -> Findings:
    for view in context.machines:
        torch = view.text("software.versions.torch")
        if torch and view.has("software.torch_cuda") and not view.text("software.torch_cuda"):
            yield context.block(
                view,
                saw=f"torch {torch} on {view.name} is built without CUDA",
                expected="a CUDA build, as the run wants GPUs",
                why="it would find no GPU.",
                fix=f"on {view.name}: pip install torch=={torch.partition('+')[0]} from a CUDA index, "
                f"or {context.run.cpu_form} to train on CPUs",
            )
