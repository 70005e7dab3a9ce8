"""One rank holds up the others.

## How it is found
At a stall allranks reads and compares the stacks, collectives, processes and connections of all ranks. All ranks but
one wait in the same collective. That rank is stopped, waits for storage or for its data, runs other code, or is in
another collective. If all ranks of one node differ from the others in the same way, or if one node answers no
connection, the finding names that node.

## Why it matters
This is the rank to look at. Otherwise torch's time-out ends the run 10 to 30 minutes later, and its message blames the
ranks that waited.

## What to do
Look at the line of code in the finding. If the rank is in another collective, or at another number, the code takes
another path there: a collective under `if rank == 0`, or an uneven number of batches. If it waits for its data, look
at the loader's workers and their storage. If it is stopped, continue it with kill -CONT.

allranks stops a run that cannot continue (another collective) at once. It stops any other run after ten minutes
without progress, or after the time-out of its process group if that is more than half an hour. Before that it asks all
ranks twice more: they must answer the same, and no collective may have advanced. After the last step
it does not stop the run, because one rank may merge or export for long.

Topic: training
"""

from __future__ import annotations

from typing import Dict, Iterator, Optional

from allranks.core import BLOCK, WARN, Event, Finding, Where
from allranks.core.causes import PASSES, Cause
from allranks.diagnose.catalogue import cause, section
from allranks.monitor import start_patience
from allranks.monitor.detectors.rank_exited_early import leaver
from allranks.monitor.hang_thresholds import START_SECONDS, allowed_silence, has_trained, step_seconds
from allranks.monitor.rank_comparison import ANSWER_SECONDS, answered, odd_one
from allranks.monitor.run_state import RunState
from allranks.monitor.stall import said_at, stall
from allranks.monitor.suspect import Odd

CAUSE = Cause(__name__, restart=PASSES)
AFTER = ("evidence",)
EACH_TIME = True
BLOCK_SECONDS = 600.0
"""NCCL's own default time-out: torch itself would end the run then, without naming a rank."""

LOOKS_APART_SECONDS = 10.0
"""At least, between the last two questions before a run is stopped."""

HOLDS_SECONDS = ANSWER_SECONDS + 2.0
"""For how long the answers to a quiet question count for a stall: the last answer may take as long to come."""

DEFAULT_SECONDS = 1800.0
"""The longest of torch's own defaults (gloo's, and a Trainer's). A longer time-out means that the user allows a rank
to take so long."""


def after(run: RunState, event: Event) -> Iterator[Finding]:
    """Names the rank together with the stall if the ranks were asked before, not a tick later."""
    if event.payload.stands:
        yield from detect(run, run.arrived)


def detect(run: RunState, now: float) -> Iterator[Finding]:
    odd = culprit(run, now)
    if odd is not None:
        finding = _finding(run, odd, now)
        run.held_up = (now, odd, finding)
        yield finding


def culprit(run: RunState, now: float) -> Optional[Odd]:
    """The rank that the answers name, if it is time to report it. Answers to a quiet question are kept until the
    stall, unless they prove more."""
    asked, in_silence = start_patience.question(run)
    if asked is None or run.quiet or now < run.paused_until or not answered(run, asked, now):
        return None
    odd = odd_one(run)
    if odd is None or odd.rank not in run.ranks:
        return None
    if in_silence and not start_patience.proves(run, odd) and not _is_due(run, now):
        return None
    if not odd.proven and leaver(run, now) is not None:
        return None  # the others wait for the rank that left; a rank that reads a result on a GPU only looks different
    return odd if not has_trained(run) or _at_the_end(run, odd, now) else None


def is_named(run: RunState) -> bool:
    """Whether a rank was named and nothing has moved since."""
    moved = run.moved_at
    return run.held_up is not None and moved is not None and run.held_up[0] > moved


def _is_due(run: RunState, now: float) -> bool:
    """Whether the answers to a quiet question should be reported: the run has stalled, and they are new. `no-progress`
    asks again if they are old."""
    return is_named(run) or (start_patience.is_fresh(run, now, HOLDS_SECONDS) and stall(run, now) is not None)


def _at_the_end(run: RunState, odd: Odd, now: float) -> bool:
    """After the last step one rank may merge and export for long. In the first half hour only states that cannot be
    work are reported."""
    return (odd.proven and cause(odd.cause).cannot_be_work) or now - _moved(run, now) > START_SECONDS


def _moved(run: RunState, now: float) -> float:
    return max((r.moved_at or 0.0 for r in run.ranks.values()), default=now)


def _finding(run: RunState, odd: Odd, now: float) -> Finding:
    rank = run.ranks[odd.rank]
    about, seen = cause(odd.cause), run.looks.get(odd.rank)
    pid = "PID" if seen is None or seen.pid is None else seen.pid
    fix = (about.fix_of_rank or section(odd.cause, "What to do")).format(
        node=rank.node, rank=odd.rank, pid=pid
    )
    late = _steady(run) and now - _moved(run, now) > patience(run) and _stands_still(run, now)
    who = f"node {odd.node}" if odd.node is not None else f"rank {odd.rank} on {rank.node}"
    others = any(r.alive and r.rank != odd.rank for r in run.ranks.values())
    return Finding(
        id="rank-holds-up",
        verdict=BLOCK if (odd.proven and about.is_hopeless) or late else WARN,
        where=Where(
            node=rank.node,
            rank=odd.rank if odd.node is None else None,
            file=odd.frame[0] if odd.frame else None,
            line=odd.frame[1] if odd.frame else None,
        ),
        saw=f"{who} {'holds up the others' if others else 'stands still'}: {odd.reason}." + _replaces(run),
        expected="all ranks in the same collective" if others else "a rank that goes on",
        why="every other rank waits for it; torch's own time-out would name the ones that wait."
        if others
        else "no other rank is left that could go on.",
        fix=fix,
        evidence=odd.evidence,
    )


def _stands_still(run: RunState, now: float) -> bool:
    """Whether the run would be stopped by what the ranks do now, not by what they did ten minutes ago: they are asked
    twice more, LOOKS_APART_SECONDS apart. A collective that goes on between the two, as in a long generation under
    ZeRO-3, is work; then they are asked again as often as needed."""
    asked, _ = start_patience.question(run)
    memory = run.memory_of("rank-holds-up")
    if asked is None or asked - _moved(run, now) < patience(run) - start_patience.FRESH_SECONDS:
        start_patience.ask_once_more(run)
        return False
    looks = memory.get("looks", ())
    if not looks or asked - looks[-1][0] >= LOOKS_APART_SECONDS:
        looks = memory["looks"] = (*looks[-1:], (asked, _collectives(run)))
    if len(looks) == 2 and looks[0][0] > _moved(run, now):
        (_, before), (_, after) = looks
        if all(before[rank] == after[rank] for rank in before.keys() & after.keys()):
            return True
    if now - asked >= LOOKS_APART_SECONDS:
        start_patience.ask_once_more(run)
    return False


def _collectives(run: RunState) -> Dict[int, Optional[int]]:
    """The number of each rank's newest collective, if it is known."""
    return {rank: flight.sequence for rank, flight in run.flights.items()}


def _replaces(run: RunState) -> str:
    """A note that this finding replaces no-progress: of two findings about one stall, the one with the answers
    counts."""
    said, moved = said_at(run), run.moved_at
    return " This replaces no-progress." if said is not None and moved is not None and said > moved else ""


def block_seconds(run: RunState) -> float:
    """How long a rank may hold up the others: ten minutes, or the collectives' time-out if the user has set one that is
    longer than any default."""
    longest = max((flight.timeout_seconds or 0.0 for flight in run.flights.values()), default=0.0)
    return longest if longest > DEFAULT_SECONDS else BLOCK_SECONDS


def patience(run: RunState) -> float:
    """One step may take longer than `block_seconds`: ranks that answer within it may be at work."""
    return max(block_seconds(run), allowed_silence(run) or 0.0)


def _steady(run: RunState) -> bool:
    """Whether all ranks train at a known pace. A load, a save, an evaluation or the end may take longer."""
    return (
        step_seconds(run) is not None
        and not has_trained(run)
        and all(r.phase == "training" for r in run.ranks.values() if r.alive)
    )
