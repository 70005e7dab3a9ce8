"""The loss is not a number

## What is seen
The loss is NaN or infinite in two steps after each other (a warning), or in ten (the run is stopped).

## Why it matters
Once a weight is NaN every later step is: the time and the adapter are lost. A single overflow is normal in
fp16, where the step is skipped and the scale is halved; ten in a row on a constant scale never end by themselves.

## What to do
bf16 instead of fp16 where the GPU has it, a smaller learning rate, gradient clipping; look at the batch of the
first bad step. Resume from the last checkpoint before it.
"""

from __future__ import annotations

from typing import Iterator

from allranks.watch.state import RunState
from allranks.words import BLOCK, WARN, Event, Finding, Where

AFTER = ("beat",)
WARN_STEPS = 2
BLOCK_STEPS = 10
"""A dynamic fp16 scale starts at 2^16 (DeepSpeed's initial_scale_power) and halves at each overflow: a few
in a row are its search. Overflows there are of the gradient; the loss itself stays finite."""


def after(run: RunState, event: Event) -> Iterator[Finding]:
    if event.rank is None:
        return
    rank = run.rank(event.rank)
    if rank.nan_steps < WARN_STEPS:
        return
    stop = rank.nan_steps >= BLOCK_STEPS
    yield Finding(
        id="loss-nan",
        verdict=BLOCK if stop else WARN,
        where=Where(node=rank.node, rank=event.rank),
        saw=f"the loss is {rank.loss} for {rank.nan_steps} steps, at step {rank.step}.",
        expected="a finite loss",
        why="a weight that is NaN stays NaN: what trains now is lost.",
        fix="bf16 instead of fp16, a smaller learning rate, gradient clipping; resume from before the first NaN.",
    )


def _beat(*losses: float) -> dict:
    steps = [[n + 1, loss, 0.1, 0.0, 1, 1e-5] for n, loss in enumerate(losses)]
    data = {"phase": "training", "step": len(steps), "steps": steps}
    return {"at": 1.0, "kind": "beat", "node": "a", "rank": 0, "data": data}


_NAN = float("nan")
FIRES = [{"events": [_beat(_NAN, _NAN)]}, {"events": [_beat(*[_NAN] * 10)]}]
SILENT = [{"events": [_beat(3.2, _NAN, 3.1, _NAN)]}, {"events": [_beat(3.0, 2.9)]}]
