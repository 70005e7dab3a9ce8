"""When something last moved, and the longest pauses of this training so far.

A pause that the run has survived belongs to its pace: new shapes compile, or it uploads something every few hundred
steps. The window of the last steps is too short to show that.
"""

from __future__ import annotations

from allranks.diagnose.catalogue import cause
from allranks.monitor.rank_records import RankState
from allranks.monitor.run_state import RunState

LEAST_SECONDS = 8.0
"""A shorter pause changes no limit."""

KNOWN_STEPS = 3
"""Pauses before the third step belong to the start."""

ONCE_SECONDS = 60.0
"""A pause that came once counts for at most so much: a longer one may be an outage, until it comes again."""

OFTEN_SECONDS = 400.0
"""A pause that came twice counts for at most so much: 1.5 times that is NCCL's own default time-out (10 min)."""

LONGER = 1.5
"""The next pause may take 1.5 times as long as the longest."""


def moved(run: RunState, rank: RankState, at: float) -> None:
    """A step, a phase or a progress bar of this rank moved at `at`. Call it before the rank's phase changes."""
    rank.moved_at = at
    before = run.last_move
    if before is None or at > before:
        run.last_move = at
        paused = 0.0 if before is None else run.ears.silence(before, at)
        if paused > LEAST_SECONDS and rank.steps_seen >= KNOWN_STEPS:
            _remember(run, paused)


def _remember(run: RunState, seconds: float) -> None:
    """Remembers a pause between steps; other phases have their own memory. An outage in which one rank held up the
    others does not count. If that rank was in its own code (an upload, samples), the pause counts when it comes a
    second time."""
    named = run.held_up is not None and run.last_move is not None and run.held_up[0] > run.last_move - seconds
    fault = named and run.held_up is not None and cause(run.held_up[1].cause).is_outage
    if fault or any(rank.phase != "training" for rank in run.ranks.values() if rank.alive):
        return
    if named:
        run.held_pauses = sorted([*run.held_pauses, seconds])[-2:]
    else:
        run.pauses = sorted([*run.pauses, seconds])[-2:]


def allowed(run: RunState) -> float:
    """The seconds that a pause may take, from earlier pauses; 0.0 if there were none."""
    once = run.pauses[-1] if run.pauses else 0.0
    often = max((kept[-2] for kept in (run.pauses, run.held_pauses) if len(kept) > 1), default=0.0)
    return LONGER * max(min(once, ONCE_SECONDS), min(often, OFTEN_SECONDS))
