"""A GPU admits no process, or only one.

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

from collections.abc import Iterator

from allranks.checks import gpus
from allranks.checks.context import Context
from allranks.core import Finding

NEEDS = ("gpus.list",)
applies = gpus.applies


def check(context: Context) -> Iterator[Finding]:
    for view, index, gpu in gpus.used(context):
        mode = str(gpu.get("compute_mode") or "")
        if mode == "Prohibited" or mode.startswith("Exclusive"):
            say = context.block if mode == "Prohibited" else context.warn
            yield say(
                view,
                gpu=index,
                saw=f"{gpus.label(index, gpu)} of {view.name} is in compute mode {mode}",
                expected="Default",
                why="no process may compute on it."
                if mode == "Prohibited"
                else "one process alone may compute on it: a worker that touches CUDA fails.",
                fix=f"as root on {view.name}: nvidia-smi -i {index} -c DEFAULT",
            )
