"""Two ranks on one GPU

## What is seen
Two living ranks report the same machine and the same GPU (its UUID, else its PCI bus id).

## Why it matters
NCCL refuses the pair ("Duplicate GPU detected") or, with gloo, both train at half speed in half the memory.
Equal bus ids on different machines are normal and never reported.

## What to do
Start one process a GPU: torchrun sets LOCAL_RANK, and the script calls set_device(LOCAL_RANK) before any
CUDA or NCCL call. A node listed twice under two names, and a second run on the same GPUs, look the same.
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import BLOCK, Event, Finding, Where
from allranks.monitor.run_state import RunState

AFTER = ("start",)


def after(run: RunState, event: Event) -> Iterator[Finding]:
    for kind, first, second in run.clashes[-4:]:
        if kind == "gpu" and second == event.rank:
            held, asking = run.rank(first), run.rank(second)
            yield Finding(
                id="duplicate-gpu",
                verdict=BLOCK,
                where=Where(node=asking.node, rank=second),
                saw=f"rank {second} and rank {first} both use GPU {asking.bus_id or asking.uuid} of {asking.host}.",
                expected="one rank a GPU",
                why="NCCL stops with 'Duplicate GPU detected', or both share one GPU's memory and speed.",
                fix="one process a GPU: check that no machine is listed twice, that gpus is not more than it has, "
                "and that the script calls torch.cuda.set_device(LOCAL_RANK) first.",
                evidence=(
                    f"rank {first}: node {held.node}, host {held.host}, {held.uuid or held.bus_id}",
                    f"rank {second}: node {asking.node}, host {asking.host}, {asking.uuid or asking.bus_id}",
                ),
            )
