"""DeepSpeed must compile an operator, and cannot.

## How it is found
For what this run will compile at its first use (the processor's Adam with offload, DeepSpeed's own optimizers,
disk access with offload to NVMe, shared-memory collectives on CPU): ninja, a C++ compiler, and for CUDA operators nvcc,
on every node.

## Why it matters
The rank ends with "Ninja is required to load C++ extensions" or "CUDA_HOME environment variable is not set",
on that node alone, after the model has been loaded.

## What to do
Install ninja and g++ in the training environment or image (and the CUDA toolkit for CUDA operators), or compile
ahead with `DS_BUILD_OPS=1` where DeepSpeed is installed.

## Source
torch 2.13 `utils/cpp_extension.py`; DeepSpeed 0.19 `ops/op_builder`.

Topic: software
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View
from allranks.checks.phrases import listed
from allranks.plan.operators import needs_cuda, operators

NEEDS = ("software.ninja", "software.compiler", "software.nvcc")


def applies(context: Context) -> bool:
    return context.on_host and bool(operators(context.run, context.deepspeed))


def check(context: Context) -> Findings:
    compiled = operators(context.run, context.deepspeed)
    for view in context.machines:
        missing = missing_on(view, needs_cuda(context.run, context.deepspeed))
        if missing:
            yield context.block(
                view,
                saw=f"{listed(missing)} {'is' if len(missing) == 1 else 'are'} not available on {view.name}",
                expected=f"what compiles {listed(compiled)} at its first use",
                why="its ranks would end once the model has been loaded, and all others with them.",
                fix=f"install {listed(missing)} in the training environment of {view.name}",
            )


def missing_on(view: View, with_cuda: bool) -> list[str]:
    wanted = {"ninja": "software.ninja", "a C++ compiler": "software.compiler"}
    if with_cuda:
        wanted["nvcc"] = "software.nvcc"
    return [name for name, path in wanted.items() if view.has(path) and view.get(path) is None]
