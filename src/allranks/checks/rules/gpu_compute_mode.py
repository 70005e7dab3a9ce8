"""A GPU accepts no process, or only one.

## How it is found
The compute mode of the GPUs that the run uses.

## Why it matters
In `Prohibited` no process may compute on it: "all CUDA-capable devices are busy or unavailable". In
`Exclusive_Process` one may, so that a data loader's worker that touches CUDA, or a second rank, fails.

## What to do
As root: `nvidia-smi -i INDEX -c DEFAULT`.

## Source
NVIDIA nvidia-smi manual, compute mode.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus

NEEDS = ("gpus.list",)
applies = on_gpus


def check(context: Context) -> Findings:
    for gpu in context.used_gpus:
        mode = str(gpu.get("compute_mode") or "")
        if mode == "Prohibited" or mode.startswith("Exclusive"):
            say = context.block if mode == "Prohibited" else context.warn
            yield say(
                gpu,
                saw=f"{gpu} is in compute mode {mode}",
                expected="Default",
                why="no process may compute on it."
                if mode == "Prohibited"
                else "one process alone may compute on it: a worker that touches CUDA fails.",
                fix=f"as root on {gpu.node}: nvidia-smi -i {gpu.index} -c DEFAULT",
            )
