"""How far a run is and how fast it goes, for `ps` and the terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any, Dict, Iterable, List, Mapping, Optional

from allranks.core import Event
from allranks.monitor import event_handlers
from allranks.monitor.run_state import RankState, RunState

PHASES = ("importing", "loading", "preparing", "compiling", "training", "evaluating", "saving", "done")


@dataclass(frozen=True)
class RankProgress:
    """The progress of one rank; None for unknown values. `beat_age_seconds` is how long ago it was heard."""

    rank: int
    node: Optional[str] = None
    phase: Optional[str] = None
    step: Optional[int] = None
    step_seconds: Optional[float] = None
    data_seconds: Optional[float] = None
    own_seconds: Optional[float] = None
    """The part of its steps before their first collective (`core.rank_events.Step`)."""
    loss: Optional[float] = None
    rss_bytes: Optional[int] = None
    gpu_bytes: Optional[int] = None
    beat_age_seconds: Optional[float] = None
    code: Optional[int] = None


@dataclass(frozen=True)
class Progress:
    """The progress of the whole run. `step_seconds` and `data_seconds` are medians of the last 64 steps, of the
    slowest rank and of all ranks; `tokens_per_second` sums all ranks; `seconds_left` is None until a step is
    measured."""

    step: Optional[int] = None
    total_steps: Optional[int] = None
    loss: Optional[float] = None
    learning_rate: Optional[float] = None
    gradient_norm: Optional[float] = None
    step_seconds: Optional[float] = None
    data_seconds: Optional[float] = None
    tokens_per_second: Optional[float] = None
    seconds_left: Optional[float] = None
    phase: Optional[str] = None
    operator: Optional[str] = None
    """The operator that torch compiles, in the phase `compiling`."""
    operator_waits: bool = False
    """Whether no rank compiles it, and all wait for another process."""
    world_size: Optional[int] = None
    ranks: Mapping[int, RankProgress] = field(default_factory=dict)


def middle(values: Iterable[float]) -> Optional[float]:
    """The median; None without values."""
    kept = list(values)
    return median(kept) if kept else None


def progress(events: Iterable[Event], now: "float | None" = None) -> Progress:
    """The progress that a journal shows. `now` is on the events' clock; the default is the newest event's time."""
    run = RunState()
    for event in events:
        event_handlers.apply(run, event)
    return progress_of(run, now)


def progress_of(run: RunState, now: "float | None" = None) -> Progress:
    """The progress from a run's state."""
    clock = now if now is not None else run.at
    ranks: Dict[int, RankProgress] = {n: _of_rank(rank, clock) for n, rank in sorted(run.ranks.items())}
    steps = [r.step for r in ranks.values() if r.step is not None]
    totals = [rank.total_steps for rank in run.ranks.values() if rank.total_steps]
    seconds = [r.step_seconds for r in ranks.values() if r.step_seconds is not None]
    total = max(totals) if totals else run.total_steps
    step = min(steps) if steps else None
    step_seconds = max(seconds) if seconds else None
    left = None
    if step is not None and total and step_seconds is not None:
        left = max(0, total - step) * step_seconds
    first = next((rank for _, rank in sorted(run.ranks.items()) if rank.loss is not None), None)
    return Progress(
        step=step,
        total_steps=total,
        loss=first.loss if first else None,
        learning_rate=first.learning_rate if first else None,
        gradient_norm=first.gradient_norm if first else None,
        step_seconds=step_seconds,
        data_seconds=middle(r.data_seconds for r in ranks.values() if r.data_seconds is not None),
        tokens_per_second=_tokens_per_second(run),
        seconds_left=left,
        phase=_phase(run.ranks.values()),
        **operator_of(run.ranks.values()),
        world_size=run.known_world_size or None,
        ranks=ranks,
    )


def _of_rank(rank: RankState, clock: "float | None") -> RankProgress:
    age = None if clock is None or rank.beat_at is None else max(0.0, clock - rank.beat_at)
    return RankProgress(
        rank=rank.rank,
        node=rank.node,
        phase=rank.phase,
        step=rank.step,
        step_seconds=middle(rank.seconds),
        data_seconds=middle(rank.data_seconds),
        own_seconds=middle(rank.own_seconds),
        loss=rank.loss,
        rss_bytes=rank.rss_bytes,
        gpu_bytes=rank.gpu_bytes,
        beat_age_seconds=age,
        code=rank.code,
    )


def _phase(ranks: Iterable[RankState]) -> Optional[str]:
    """The phase of the rank furthest behind: the others wait for it."""
    known: List[int] = [PHASES.index(r.phase) for r in ranks if r.phase in PHASES]
    return PHASES[min(known)] if known else None


def operator_of(ranks: Iterable[RankState]) -> Dict[str, Any]:
    """The fields `operator` and `operator_waits` of a Progress: the operator that a rank compiles while the others
    wait for its lock."""
    busy = [rank.operator for rank in ranks if rank.phase == "compiling" and rank.operator is not None]
    for one in sorted(busy, key=lambda one: one.waits):
        return {"operator": one.name, "operator_waits": one.waits}
    return {}


def _tokens_per_second(run: RunState) -> Optional[float]:
    """Each rank's tokens divided by its own seconds, summed over all ranks; None if no rank counts tokens."""
    speeds = []
    for rank in run.ranks.values():
        steps = min(len(rank.tokens), len(rank.seconds))
        took = sum(list(rank.seconds)[-steps:]) if steps else 0.0
        if took > 0:
            speeds.append(sum(list(rank.tokens)[-steps:]) / took)
    return sum(speeds) if speeds else None
