"""Looking before anything is said: a start, a first step or a compiler may stand still for half an hour and be well.

After 12 s the keeper asks all ranks what they do, in silence, and again whenever the stillness has lasted twice as
long. A word follows only where the answers prove that nobody waits it out: a process that is stopped, a rank
in another collective at the same number, or, in the first steps, a rank that stands in one call of its data loader from
one look to the next while all others wait in a collective.

In steady training they are asked a moment before a stillness becomes a stall: then the answers are there at once. Where
some have left before the last step, the few that are left are asked as at a start: they work on, or wait for ever.
"""

from __future__ import annotations

from typing import Optional, Tuple

from allranks.diagnose.catalogue import cause
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.monitor.detectors.rank_exited_early import somebody_left
from allranks.monitor.detectors.rank_silent import CAUSE as RANK_SILENT
from allranks.monitor.hang_thresholds import STARTING, alive, allowed_silence, has_trained, step_seconds
from allranks.monitor.rank_stacks import LOADING, frames_of
from allranks.monitor.run_state import RunState
from allranks.monitor.suspect import Odd

LOOK_SECONDS = 12.0
AHEAD_SECONDS = 3.0
"""Before a stillness is a stall: what the answers take on a busy machine (py-spy, a beat in which each rank looks)."""

AGAIN_FACTOR = 2.0
APART_SECONDS = 60.0
"""Between the first looks at two stillnesses: a loading that moves each 20 s is not asked at every one."""

FRESH_SECONDS = 2 * AHEAD_SECONDS
RANK_SECONDS = 0.1
"""And so much for each rank: each answer is some 4 KB of the journal, thousands of ranks are asked more rarely."""

TICK_SECONDS = 1.0
ASK_AGAIN_SECONDS = 60.0
"""Between two questions aloud about one stall."""


def due(run: RunState, now: float) -> str:
    """Why all ranks are to be asked now, "" where they are not. Call it as often as you like."""
    memory = run.memory_of("looking")
    if abs(now - memory.get("ticked", 0.0)) < TICK_SECONDS or run.quiet or now < run.paused_until:
        return ""
    memory["ticked"] = now
    moved = run.moved_at
    first = None if moved is None else _first_look(run)
    if moved is None or first is None or now - moved < first or _is_answered(run, moved):
        return ""
    looked, still = run.looked_at, now - moved
    if looked is not None and looked > moved:
        again = _is_a_start(run) or not _is_steady(run)
        return _why(still) if again and still >= AGAIN_FACTOR * (looked - moved) else ""
    before = [at for at in (looked, run.asked_at) if at is not None]
    apart = max(APART_SECONDS, RANK_SECONDS * len(run.ranks))
    return _why(still) if not before or now - max(before) >= apart else ""


def is_fresh(run: RunState, now: float, seconds: float = FRESH_SECONDS) -> bool:
    """Whether all ranks were asked in silence so shortly ago, and since anything moved, that their answers hold."""
    looked, moved = run.looked_at, run.moved_at
    new = looked is not None and (run.asked_at is None or looked > run.asked_at)
    return new and moved is not None and moved < (looked or 0.0) and now - (looked or 0.0) <= seconds


def due_again(run: RunState, now: float) -> bool:
    """Whether a stall that was told is to be asked about: a new one always, the same one once a minute."""
    asked, moved = run.asked_at, run.moved_at
    return asked is None or (moved is not None and moved > asked) or now - asked >= ASK_AGAIN_SECONDS


def _first_look(run: RunState) -> Optional[float]:
    """After how many seconds without a move all ranks are asked; None where nobody is before a word is said."""
    if _is_a_start(run):
        return LOOK_SECONDS
    if _is_steady(run):
        allowed = allowed_silence(run)
        return None if allowed is None else allowed - AHEAD_SECONDS
    return LOOK_SECONDS if alive(run) and somebody_left(run) else None


def _is_steady(run: RunState) -> bool:
    """Whether all that are left train, each with others that it may wait for."""
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
    """Whether this stillness was asked about aloud, or somebody was named."""
    named = run.held_up[0] if run.held_up is not None else None
    return any(at is not None and at > moved for at in (run.asked_at, named))


def question(run: RunState) -> Tuple[Optional[float], bool]:
    """(when all ranks were asked last, whether that was in silence)."""
    if run.looked_at is not None and (run.asked_at is None or run.looked_at > run.asked_at):
        return run.looked_at, True
    return run.asked_at, False


def proves(run: RunState, odd: Odd) -> bool:
    """Whether what was found in silence is worth a word at once."""
    if cause(odd.cause).cannot_be_work:
        seen = run.looks.get(odd.rank)
        traced = seen is not None and seen.state == "t"  # a debugger is somebody's own
        return odd.proven and not (traced and odd.cause == RANK_SILENT.id)
    return odd.cause == COLLECTIVE_TIMEOUT_STRAGGLER.id and _stays_in_its_loader(run, odd)


def _stays_in_its_loader(run: RunState, odd: Odd) -> bool:
    """In the first steps alone: before them, one rank may read the data for all others."""
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
