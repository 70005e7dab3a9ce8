"""The loss climbs and stays up.

## How it is found
The median of the last 32 losses is 1.5 times above the best losses of this run, and above the first ones too.

## Why it matters
The model gets worse. Mostly the learning rate is too high, or a batch of data is broken. Later checkpoints are worse
than earlier ones.

## What to do
Resume from the checkpoint before it began, with a smaller learning rate or more warm-up; look at the data of those
steps.

Topic: training
"""

from __future__ import annotations

from statistics import median
from typing import Dict, Iterator, Optional, Tuple

from allranks.core import WARN, Event, Finding
from allranks.monitor.aggregation import gathered, grouped, on, where_of
from allranks.monitor.rank_records import FIRST_LOSSES
from allranks.monitor.run_state import RankState, RunState

AFTER = ("beat",)
WINDOW = 32
OVER_BEST = 1.5
OVER_FIRST = 1.15
LEAST_RISE = 0.5
"""In nats per token. A loss near zero may double without any meaning."""

GATHER_SECONDS = 10.0
"""The noise differs per rank, so ranks cross the limit some steps apart."""


def after(run: RunState, event: Event) -> Tuple[Finding, ...]:
    """Notes which ranks' loss rises; `detect` reports them."""
    if event.rank is None or not event.payload.steps:
        return ()
    rank = run.rank(event.rank)
    rising = _rising(run)
    rising.pop(rank.rank, None)
    best, recent = _best(run, rank), _recent(rank)
    if best is None or recent is None:
        return ()
    first = median(rank.first_losses)
    if recent > max(OVER_BEST * best, best + LEAST_RISE) and recent > max(
        OVER_FIRST * first, first + LEAST_RISE / 2
    ):
        rising[rank.rank] = (recent, first, best)
    return ()


def detect(run: RunState, now: float) -> Iterator[Finding]:
    rising = {number: rise for number, rise in _rising(run).items() if number in run.ranks}
    if not gathered(run.memory_of("loss-diverging"), bool(rising), now, GATHER_SECONDS):
        return
    for ranks in grouped(run.ranks[number] for number in rising):
        recent, first, best = (median(values) for values in zip(*(rising[rank.rank] for rank in ranks)))
        yield Finding(
            id="loss-diverging",
            verdict=WARN,
            where=where_of(ranks),
            saw=f"the median of the last {WINDOW} losses{on(ranks)} is {recent:.2f}; it began at {first:.2f} and was as"
            f" low as {best:.2f}.",
            expected="a loss that does not rise above where it began",
            why="the model gets worse: later checkpoints are worse than earlier ones.",
            fix="resume from before it began with a smaller learning rate; look at the data of those steps.",
        )


def _rising(run: RunState) -> Dict[int, Tuple[float, float, float]]:
    """By rank: the median of its last losses, the median of its first losses, and the best median so far."""
    return run.memory_of("loss-diverging").setdefault("rising", {})


def _recent(rank: RankState) -> Optional[float]:
    kept = list(rank.losses)[-WINDOW:]
    return median(kept) if len(kept) == WINDOW and len(rank.first_losses) == FIRST_LOSSES else None


def _best(run: RunState, rank: RankState) -> Optional[float]:
    """The lowest median of a window of losses so far."""
    recent = _recent(rank)
    if recent is None:
        return None
    kept = run.memory_of("loss-diverging").setdefault("best", {})
    best = min(recent, kept.get(rank.rank, recent))
    kept[rank.rank] = best
    return best
