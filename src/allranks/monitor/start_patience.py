"""Asks the ranks before a stall is reported: at a start, in a first step or while compiling, a run may stand still
for half an hour.

After 12 s without a move the keeper quietly asks all ranks for their stacks, and again whenever that time has
doubled. A finding follows only if the answers prove that the run cannot continue. There are three such proofs: a
process is stopped; a rank is in another collective at the same number; or, in the first steps, a rank stays in one
call of its data loader while all others wait in a collective.

In steady training the ranks are asked a moment before the limit of a stall, so that the answers come in time. If some
ranks have left before the last step, the others are asked as at a start: they may work, or wait forever.
"""

from __future__ import annotations

from typing import Optional, Tuple

from allranks.core.stack_places import LOADING
from allranks.diagnose.catalogue import cause
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.monitor.detectors.rank_exited_early import somebody_left
from allranks.monitor.detectors.rank_silent import CAUSE as RANK_SILENT
from allranks.monitor.hang_thresholds import STARTING, alive, allowed_silence, has_trained, step_seconds
from allranks.monitor.rank_stacks import frames_of
from allranks.monitor.run_state import RunState
from allranks.monitor.suspect import Odd

LOOK_SECONDS = 12.0
AHEAD_SECONDS = 3.0
"""Seconds before the limit of a stall. The answers take so long on a busy machine (py-spy, a heartbeat of each
rank)."""

AGAIN_FACTOR = 2.0
APART_SECONDS = 60.0
"""The least time between the first questions of two stops: a load that moves every 20 s is not asked each time."""

FRESH_SECONDS = 2 * AHEAD_SECONDS
RANK_SECONDS = 0.1
"""Added for each rank: an answer takes about 4 KB of the journal, so thousands of ranks are asked less often."""

TICK_SECONDS = 1.0
ASK_AGAIN_SECONDS = 60.0
"""The time between two questions about a reported stall."""


def due(run: RunState, now: float) -> str:
    """Why all ranks should be asked now; empty if they should not. Call it as often as you like."""
    memory = run.memory_of("looking")
    if abs(now - memory.get("ticked", 0.0)) < TICK_SECONDS or run.quiet or now < run.paused_until:
        return ""
    memory["ticked"] = now
    moved = run.moved_at
    first = None if moved is None else _first_look(run)
    if moved is not None and memory.pop("once more", False):
        return _why(now - moved)
    if moved is None or first is None or now - moved < first or _is_answered(run, moved):
        return ""
    looked, still = run.looked_at, now - moved
    if looked is not None and looked > moved:
        again = _is_a_start(run) or not _is_steady(run)
        return _why(still) if again and still >= AGAIN_FACTOR * (looked - moved) else ""
    before = [at for at in (looked, run.asked_at) if at is not None]
    apart = max(APART_SECONDS, RANK_SECONDS * len(run.ranks))
    return _why(still) if not before or now - max(before) >= apart else ""


def ask_once_more(run: RunState) -> None:
    """All ranks are asked with the next tick, although a rank was named: before a finding stops the run."""
    run.memory_of("looking")["once more"] = True


def is_fresh(run: RunState, now: float, seconds: float = FRESH_SECONDS) -> bool:
    """Whether all ranks were quietly asked so recently, and after the last move, that their answers still hold."""
    looked, moved = run.looked_at, run.moved_at
    new = looked is not None and (run.asked_at is None or looked > run.asked_at)
    return new and moved is not None and moved < (looked or 0.0) and now - (looked or 0.0) <= seconds


def due_again(run: RunState, now: float) -> bool:
    """Whether the ranks should be asked about a reported stall: always about a new one, once a minute about the
    same."""
    asked, moved = run.asked_at, run.moved_at
    return asked is None or (moved is not None and moved > asked) or now - asked >= ASK_AGAIN_SECONDS


def _first_look(run: RunState) -> Optional[float]:
    """The seconds without a move after which all ranks are asked; None if they are not asked before a finding."""
    if _is_a_start(run):
        return LOOK_SECONDS
    if _is_steady(run):
        allowed = allowed_silence(run)
        return None if allowed is None else allowed - AHEAD_SECONDS
    return LOOK_SECONDS if alive(run) and somebody_left(run) else None


def _is_steady(run: RunState) -> bool:
    """Whether all living ranks train, and each has others to wait for."""
    living = alive(run)
    others = len(living) > 1 or (len(living) == 1 and any(rank.code == 0 for rank in run.ranks.values()))
    return others and all(rank.phase == "training" for rank in living) and not has_trained(run)


def _why(still: float) -> str:
    return f"nothing has moved for {still:.0f} s"


def _is_a_start(run: RunState) -> bool:
    """Whether two ranks or more load, prepare, compile or take their first steps."""
    living = alive(run)
    phases = {rank.phase for rank in living}
    if len(living) < 2:
        return False
    first = "training" in phases and step_seconds(run) is None and not has_trained(run)
    return first or "compiling" in phases or bool(phases & STARTING)


def _is_answered(run: RunState, moved: float) -> bool:
    """Whether the ranks were asked about this stall after it was reported, or a rank was named."""
    named = run.held_up[0] if run.held_up is not None else None
    return any(at is not None and at > moved for at in (run.asked_at, named))


def question(run: RunState) -> Tuple[Optional[float], bool]:
    """(when all ranks were last asked, whether that was a quiet question)."""
    if run.looked_at is not None and (run.asked_at is None or run.looked_at > run.asked_at):
        return run.looked_at, True
    return run.asked_at, False


def proves(run: RunState, odd: Odd) -> bool:
    """Whether the answers to a quiet question are worth a finding at once."""
    if cause(odd.cause).cannot_be_work:
        seen = run.looks.get(odd.rank)
        traced = seen is not None and seen.state == "t"  # a debugger holds it
        return odd.proven and not (traced and odd.cause == RANK_SILENT.id)
    return odd.cause == COLLECTIVE_TIMEOUT_STRAGGLER.id and _stays_in_its_loader(run, odd)


def _stays_in_its_loader(run: RunState, odd: Odd) -> bool:
    """Whether a rank stays in one call of its data loader. This counts only in the first steps: before them, one rank
    may read the data for all others."""
    if step_seconds(run) is not None or any(rank.phase != "training" for rank in alive(run)):
        return False
    frames = frames_of(run, odd.rank)
    if not any(LOADING.search(frame[0].replace("\\", "/")) for frame in frames):
        return False
    seen = (run.moved_at, odd.rank, odd.frame)
    memory, looked = run.memory_of("looking"), run.looked_at or 0.0
    if memory.get("loader") != seen:
        memory["loader"], memory["loader_at"] = seen, looked
    return looked > memory["loader_at"]
