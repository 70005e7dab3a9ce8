"""A collective gave a wrong sum.

## How it is found
Every rank compares each number of an all-reduce with the right sum. The numbers are small integers, which float32 adds
without error.

## Why it matters
Gradients are summed the same way: the training would continue with wrong values. Broken memory of a GPU or a network
card, and GPUDirect with ACS switched on, look like this.

## What to do
Leave the node out until `dcgmi diag -r 3` and its ECC counters are clean; switch off PCIe ACS.

## Source
NCCL user guide, troubleshooting, "PCI Access Control Services (ACS)".

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.probe.judge import Context


def check(context: Context) -> Iterator[Finding]:
    for one in context.results.collectives:
        for rank in one.ranks:
            if rank.wrong:
                yield context.block(
                    rank.node,
                    saw=f"{one.name} ({one.backend}): {rank.wrong:,} of {rank.numbers or 0:,} sums are wrong "
                    f"on rank {rank.rank}",
                    expected="the sum of the ranks' numbers",
                    why="gradients are summed the same way: the model would learn wrong values.",
                    fix=f"on {rank.node}: dcgmi diag -r 3, nvidia-smi -q -d ECC, PCIe ACS off; or leave it out",
                )
