"""NCCL is set not to use the direct links between GPUs.

## How it is found
NCCL_P2P_DISABLE and NCCL_SHM_DISABLE in `env`, on machines with several GPUs. (NCCL_IB_DISABLE is
`ib-unused`'s if there is InfiniBand.)

## Why it matters
With both, what NVLink would carry goes over TCP: an all-reduce on 8 A100 falls from about 230 GB/s to the
12 GB/s of one 100 Gb/s network at best. Guides give them as settings for a first smoke test.

## What to do
Take them out once the smoke test has passed.

## Source
NCCL user guide, NCCL_P2P_DISABLE, NCCL_SHM_DISABLE; AzNHC's threshold for 8 A100, 228 GB/s.

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.lint import COSTLY
from allranks.checks.lint.run_settings import variable_lines

UNKNOWN_BLOCKS = False


def applies(context: Context) -> bool:
    return context.uses_gpu and any(ranks > 1 for _, ranks in context.ranks_by_machine)


def check(context: Context) -> Findings:
    for line, where in variable_lines(context):
        if line.status == COSTLY and line.name in ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"):
            yield context.warn(
                where,
                saw=f"{line.name}={line.value}",
                expected="not set, once a smoke test has passed",
                why=f"{line.why}.",
                fix=line.do,
            )
