"""The loss is not a number.

## How it is found
The loss is NaN or infinite in two steps in a row (a warning), or in ten (allranks stops the run). The finding names
the ranks that reported it first: after the next exchange of gradients all ranks have it.

## Why it matters
Once a weight is NaN, every later step is NaN: the time and the adapter are lost. A single overflow is normal in fp16,
which skips that step and halves its loss scale. Ten in a row on a constant scale never end by themselves.

## What to do
Use bf16 instead of fp16 if the GPU has it, a smaller learning rate, or gradient clipping. Look at the batch of the
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
"""Steps in a row with NaN until allranks stops the run. A dynamic fp16 scale starts at 2^16 (DeepSpeed's
initial_scale_power) and halves at each overflow, so a few overflows in a row are normal. They occur in the gradient;
the loss itself stays finite."""

WAIT_SECONDS = 10.0
"""A rank that does not report this step within so many seconds counts as silent, and the finding does not wait for
it."""

GATHER_SECONDS = 2.0
"""Every rank sends a heartbeat once per second, so by then all ranks with a NaN have reported it."""


def detect(run: RunState, now: float) -> Iterator[Finding]:
    bad = [rank for rank in run.ranks.values() if rank.nan_steps >= WARN_STEPS]
    memory = run.memory_of("loss-nan")
    if not gathered(memory, bool(bad), now, GATHER_SECONDS):
        return
    first = min((rank.nan_since for rank in bad if rank.nan_since is not None), default=0)
    if _untold(run, first) and now - memory["since"] < WAIT_SECONDS:
        return  # its NaN may have come from a rank that has not reported this step yet
    for ranks in grouped([rank for rank in bad if rank.nan_since in (None, first)]):
        most = max(ranks, key=lambda rank: rank.nan_steps)
        yield Finding(
            id="loss-nan",
            verdict=BLOCK if most.nan_steps >= BLOCK_STEPS else WARN,
            where=where_of(ranks),
            saw=f"the loss is {most.loss}{on(ranks)} for {most.nan_steps} steps, at step {most.step}.",
            expected="a finite loss",
            why="a weight that is NaN stays NaN: the training from here on is lost.",
            fix="bf16 instead of fp16, a smaller learning rate, gradient clipping; resume from before the first NaN.",
        )


def _untold(run: RunState, step: int) -> List[RankState]:
    """The living ranks that have not reported this step yet."""
    return [rank for rank in run.ranks.values() if rank.alive and rank.step is not None and rank.step < step]
