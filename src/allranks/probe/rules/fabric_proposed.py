"""The fastest connection between the GPUs that passed the probe.

## How it is found
An all-reduce over all ranks on TCP alone, then with shared memory, with P2P between local GPUs, and
with InfiniBand. Each is switched on after the one before it has passed.

## Why it matters
Settings that a smoke test switched off often stay off. A training that uses TCP in place of NVLink loses most of its
speed. And a fabric that hangs is found here in a minute, before the first step.

## What to do
`network: {fabric: auto}` uses the proposal; the variables can also be written under `env`.

## Source
NCCL user guide: NCCL_P2P_DISABLE, NCCL_SHM_DISABLE, NCCL_IB_DISABLE; bus bandwidth as nccl-tests counts it.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.probe.judge import Context, rate
from allranks.probe.steps import of_ladder, proposed


def check(context: Context) -> Iterator[Finding]:
    best = proposed(context.results.collectives)
    if best is None:
        return
    told = [
        f"{c.name} {rate(c.bytes_per_second) if c.bytes_per_second else 'did not pass'}"
        for c in of_ladder(context.results.collectives)
    ]
    words = " ".join(f"{name}={value}" for name, value in best.environment.items()) or "nothing switched off"
    yield context.note(
        saw=f"{best.name} is the fastest way that passed: {', '.join(told)}",
        why=f"the ranks get: {words}.",
        fix="nothing, with network: {fabric: auto}",
    )
