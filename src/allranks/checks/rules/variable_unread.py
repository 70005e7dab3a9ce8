"""A variable in `env` is not read by any library.

## How it is found
Every variable of `env` and of nodes: whether NCCL, torch or gloo of the nodes hold its name in their
libraries, and a table of names that guides recommend and no library reads.

## Why it matters
The setting has no effect, and no message says so. `TORCH_NCCL_TIMEOUT_MS=3600000` and
`NCCL_TIMEOUT=1800` leave the time-out at 10 minutes; `NCCL_PORT_RANGE` leaves NCCL's ports to the kernel.

## What to do
Use the replacement that the finding names, mostly `ddp_timeout` for the time-outs.

## Source
The strings in the nodes' own libtorch_cuda.so and libnccl.so.2; without them those of torch 2.15.0 and NCCL
2.32.3.

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.lint import VOID
from allranks.checks.lint.run_settings import variable_lines

UNKNOWN_BLOCKS = False


def check(context: Context) -> Findings:
    for line, where in variable_lines(context):
        if line.status == VOID:
            yield context.warn(
                where,
                saw=f"{line.name}={line.value} is not read by any library: {line.why}",
                expected="a name that the installed torch, NCCL or trainer reads",
                why="it has no effect.",
                fix=line.do,
            )
