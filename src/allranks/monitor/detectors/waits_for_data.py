"""The whole run waits for its data.

## How it is found
In the middle, every rank spends more than a third of its step waiting for the next batch, over its last 64 steps.

## Why it matters
The GPUs are idle for that share of the time; more of them would not make the run faster.

## What to do
More loader workers (dataloader_num_workers), data that is tokenized before the run, faster storage.

Topic: training
"""

from __future__ import annotations

from statistics import median
from typing import Iterator

from allranks.core import NOTE, Finding, Where
from allranks.monitor.hang_thresholds import SAMPLED_RANKS, step_seconds
from allranks.monitor.rank_records import RECENT_STEPS
from allranks.monitor.run_state import RunState

SHARE = 1 / 3
"""If a third of the time is waiting, a second loader worker is worth a try. A note, not an alarm."""

LEAST_SECONDS = 0.05


def detect(run: RunState, now: float) -> Iterator[Finding]:
    step = step_seconds(run)
    sampled = list(run.ranks.values())[:SAMPLED_RANKS]
    full = [r for r in sampled if len(r.data_seconds) == RECENT_STEPS]
    if run.quiet or step is None or len(full) < len(sampled) or not full:
        return
    wait = median(median(r.data_seconds) for r in full)
    if wait > SHARE * step and wait > LEAST_SECONDS:
        yield Finding(
            id="waits-for-data",
            verdict=NOTE,
            where=Where(),
            saw=f"{wait:.2f} s of each step of {step:.2f} s are spent waiting for data ({wait / step:.0%}).",
            expected=f"less than {SHARE:.0%}",
            why="the GPUs are idle for that share of the time.",
            fix="more loader workers, data tokenized before the run, faster storage.",
        )
