"""The loss is not a number.

## How it is found
The loss is NaN or infinite in two steps after each other (a warning), or in ten (the run is stopped). The ranks are
named in which it came first: after the next exchange of gradients it is so on all of them.

## Why it matters
Once a weight is NaN every later step is: the time and the adapter are lost. A single overflow is normal in
fp16, where the step is skipped and the scale is halved; ten in a row on a constant scale never end by themselves.

## What to do
bf16 instead of fp16 where the GPU has it, a smaller learning rate, gradient clipping; look at the batch of the
first bad step. Resume from the last checkpoint before it.

Topic: training
"""

from __future__ import annotations

from typing import Iterator, List

from allranks.core import BLOCK, WARN, Finding
from allranks.monitor.aggregation import gathered, grouped, on, where_of
from allranks.monitor.run_state import RankState, RunState

WARN_STEPS = 2
BLOCK_STEPS = 10
"""A dynamic fp16 scale starts at 2^16 (DeepSpeed's initial_scale_power) and halves at each overflow: a few
in a row are its search. Overflows there are of the gradient; the loss itself stays finite."""

WAIT_SECONDS = 10.0
"""A rank that does not tell the step for so long is silent, and is not waited for."""

GATHER_SECONDS = 2.0
"""Every rank beats once a second: by then all that share it have said so."""


def detect(run: RunState, now: float) -> Iterator[Finding]:
    bad = [rank for rank in run.ranks.values() if rank.nan_steps >= WARN_STEPS]
    memory = run.memory_of("loss-nan")
    if not gathered(memory, bool(bad), now, GATHER_SECONDS):
        return
    first = min((rank.nan_since for rank in bad if rank.nan_since is not None), default=0)
    if _untold(run, first) and now - memory["since"] < WAIT_SECONDS:
        return  # one that is named now may have been given it by one that has not told this step yet
    for ranks in grouped([rank for rank in bad if rank.nan_since in (None, first)]):
        most = max(ranks, key=lambda rank: rank.nan_steps)
        yield Finding(
            id="loss-nan",
            verdict=BLOCK if most.nan_steps >= BLOCK_STEPS else WARN,
            where=where_of(ranks),
            saw=f"the loss is {most.loss}{on(ranks)} for {most.nan_steps} steps, at step {most.step}.",
            expected="a finite loss",
            why="a weight that is NaN stays NaN: what trains now is lost.",
            fix="bf16 instead of fp16, a smaller learning rate, gradient clipping; resume from before the first NaN.",
        )


def _untold(run: RunState, step: int) -> List[RankState]:
    """The living ranks that have not told this step yet."""
    return [rank for rank in run.ranks.values() if rank.alive and rank.step is not None and rank.step < step]
