"""nvcc compiles for another CUDA than torch's.

## How it is found
For a run that compiles a CUDA operator of DeepSpeed: nvcc's major version against the CUDA that torch was built
for, and whether all nodes have the same nvcc.

## Why it matters
DeepSpeed refuses to compile ("Installed CUDA version … does not match the version torch was compiled with"),
once the model has been loaded.

## What to do
Install the toolkit of torch's CUDA, or let transformers' optimizer do the work (leave `optimizer` out of the JSON).
With `DS_SKIP_CUDA_CHECK: "1"` DeepSpeed compiles anyway.

## Source
DeepSpeed 0.19 `ops/op_builder/builder.py` `assert_no_cuda_mismatch`: another major version is an error.

Topic: software
"""

from __future__ import annotations

from allranks.checks import versions
from allranks.checks.context import Context, Findings
from allranks.core.text import printable
from allranks.plan.operators import needs_cuda

NEEDS = ("software.nvcc", "software.torch_cuda")


def applies(context: Context) -> bool:
    return (
        context.on_host
        and needs_cuda(context.run, context.deepspeed)
        and context.run.env.get("DS_SKIP_CUDA_CHECK", "0") != "1"
    )


def check(context: Context) -> Findings:
    for view in context.machines:
        nvcc, cuda = view.text("software.nvcc.version"), view.text("software.torch_cuda")
        if versions.branch(nvcc) and versions.branch(cuda) and versions.branch(nvcc) != versions.branch(cuda):
            yield context.block(
                view,
                saw=f"nvcc {nvcc} on {view.name}, and a torch built for CUDA {cuda}",
                expected=f"nvcc of CUDA {versions.branch(cuda)}.x",
                why="DeepSpeed refuses to compile its operator once the model has been loaded.",
                fix=f"install the CUDA {cuda} toolkit on {view.name}, or leave optimizer out of the JSON",
            )
    for view, nvcc, usual in context.odd_ones("software.nvcc.version"):
        if nvcc and usual:
            yield context.note(
                view,
                saw=f"nvcc {printable(nvcc, 40)} on {view.name}",
                expected=f"nvcc {printable(usual, 40)}, as on other nodes",
                why="each node compiles the operators for itself: they may compute, and fail, differently.",
                fix=f"the same CUDA toolkit on {view.name}, or one container image",
            )
