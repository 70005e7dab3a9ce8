"""The loss climbs and stays up

## What is seen
The last 32 losses lie in the middle 1.5 times above the best ones of this run, and above the first ones too.

## Why it matters
The run unlearns: mostly a learning rate that is too high, or a batch of broken data. Later checkpoints are worse
than earlier ones.

## What to do
Resume from the checkpoint before it began with a smaller learning rate or more warm-up; look at the data of
those steps.
"""

from __future__ import annotations

from statistics import median
from typing import Iterator, Optional

from allranks.watch.records import FIRST_LOSSES
from allranks.watch.state import RankState, RunState
from allranks.words import WARN, Event, Finding, Where

AFTER = ("beat",)
WINDOW = 32
OVER_BEST = 1.5
OVER_FIRST = 1.15
LEAST_RISE = 0.5
"""In nats a token: a loss near zero may double and mean nothing."""


def after(run: RunState, event: Event) -> Iterator[Finding]:
    if event.rank is None or not event.data.get("steps"):
        return
    rank = run.rank(event.rank)
    best, recent = _best(run, rank), _recent(rank)
    if best is None or recent is None:
        return
    first = median(rank.first_losses)
    if recent > max(OVER_BEST * best, best + LEAST_RISE) and recent > max(
        OVER_FIRST * first, first + LEAST_RISE / 2
    ):
        yield Finding(
            id="loss-diverging",
            verdict=WARN,
            where=Where(node=rank.node, rank=rank.rank),
            saw=f"the last {WINDOW} losses lie around {recent:.2f}; they began at {first:.2f} and were at {best:.2f}.",
            expected="a loss that does not rise above where it began",
            why="the run unlearns: later checkpoints are worse than earlier ones.",
            fix="resume from before it began with a smaller learning rate; look at the data of those steps.",
        )


def _recent(rank: RankState) -> Optional[float]:
    kept = list(rank.losses)[-WINDOW:]
    return median(kept) if len(kept) == WINDOW and len(rank.first_losses) == FIRST_LOSSES else None


def _best(run: RunState, rank: RankState) -> Optional[float]:
    """The lowest that the middle of a window has been so far."""
    recent = _recent(rank)
    if recent is None:
        return None
    kept = run.memory_of("loss-diverging")
    best = min(recent, kept.get(rank.rank, recent))
    kept[rank.rank] = best
    return best


def _run(*losses: float) -> list:
    return [
        {
            "at": float(n),
            "kind": "beat",
            "node": "a",
            "rank": 0,
            "data": {"phase": "training", "step": n, "steps": [[n, loss, 1.0, 0.0, 1, 1e-5]]},
        }
        for n, loss in enumerate(losses, 1)
    ]


_DOWN = [3.0 - n / 100 for n in range(80)]
FIRES = [{"events": _run(*_DOWN, *[6.0 + n / 50 for n in range(40)])}]
SILENT = [{"events": _run(*_DOWN)}, {"events": _run(*_DOWN, 9.0, 9.0, 8.0, *[2.2] * 40)}]
