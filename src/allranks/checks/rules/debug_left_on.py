"""A debugging switch is on.

## How it is found
NCCL_DEBUG, NCCL_DEBUG_SUBSYS, TORCH_DISTRIBUTED_DEBUG, CUDA_LAUNCH_BLOCKING,
PYTORCH_NO_CUDA_MEMORY_CACHING and TORCH_NCCL_NAN_CHECK in `env`. A switch of one run (`--debug`, `--set env.NAME=…`)
is meant, and not reported.

## Why it matters
Each of them costs time at every step: DETAIL makes two collectives of each, CUDA_LAUNCH_BLOCKING waits for each kernel.
INFO fills the logs of 24 ranks with thousands of lines in which a real error is lost.

## What to do
Take it out, and use `allranks run --debug` for the one run that needs it.

## Source
torch `torch.distributed` documentation, "Debugging"; NCCL user guide, NCCL_DEBUG; CUDA programming guide.

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.lint import COSTLY
from allranks.checks.lint.run_settings import variable_lines

UNKNOWN_BLOCKS = False

NOTED = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS")
WARNED = (
    "TORCH_DISTRIBUTED_DEBUG",
    "CUDA_LAUNCH_BLOCKING",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "TORCH_NCCL_NAN_CHECK",
)


def check(context: Context) -> Findings:
    for line, where in variable_lines(context):
        is_meant = (where.file or "").startswith("--set")  # for this run alone, as --debug sets it
        if line.status == COSTLY and line.name in (*NOTED, *WARNED) and not is_meant:
            say = context.note if line.name in NOTED else context.warn
            yield say(
                where,
                saw=f"{line.name}={line.value} is on",
                expected="off, but for the run that needs it",
                why=f"{line.why}.",
                fix=f"{line.do}; allranks run --debug sets it for one run",
            )
