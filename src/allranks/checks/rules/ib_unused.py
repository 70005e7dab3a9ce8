"""InfiniBand is there, and the run does not use it.

## How it is found
Active InfiniBand or RoCE ports on every node, against NCCL_IB_DISABLE and `network.fabric`.

## Why it matters
NCCL then sends everything through the processor over TCP: at best the 12 GB/s of one 100 Gb/s Ethernet, in
place of 25 to 50 GB/s for each port. The guides' `NCCL_IB_DISABLE=1` is for a first smoke test.

## What to do
Take NCCL_IB_DISABLE out of `env` (or `network: {fabric: auto}`) once the smoke test has passed.

## Source
NCCL user guide, NCCL_IB_DISABLE.

Topic: network
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings
from allranks.core.untrusted import number

NEEDS = ("infiniband.devices",)
UNKNOWN_BLOCKS = False


def applies(context: Context) -> bool:
    return context.uses_gpu and fabric.several_machines(context)


def check(context: Context) -> Findings:
    off = context.environment(context.head).get("NCCL_IB_DISABLE", "0") not in ("0", "")
    if not off or not all(fabric.active_ports(view) for view in context.machines):
        return
    least = min((fabric.active_ports(view) for view in context.machines), key=len)
    rates = [number(port.get("rate_gbits")) or 0 for *_, port in least]
    yield context.warn(
        key="env.NCCL_IB_DISABLE" if "NCCL_IB_DISABLE" in context.run.env else "network.fabric",
        saw=f"NCCL_IB_DISABLE=1, and every node has active InfiniBand or RoCE ports: at least {len(rates)} "
        f"({sum(rates):g} Gb/s)",
        expected="InfiniBand in use once a smoke test has passed",
        why="everything between nodes goes through the processor over TCP.",
        fix="take NCCL_IB_DISABLE out of env, and network: {fabric: auto}",
    )
