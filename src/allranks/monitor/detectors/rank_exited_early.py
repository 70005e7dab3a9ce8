"""A rank left with exit code 0 while the others train on. The page is the symptom's."""

from __future__ import annotations

import re
from typing import Iterator, List, NamedTuple, Optional

from allranks.core import BLOCK, WARN, Finding, Where
from allranks.core.rank_events import Flight, Frame
from allranks.core.stack_places import WAITING, doing, waits
from allranks.diagnose.symptoms.rank_exited_early import CAUSE as RANK_EXITED_EARLY
from allranks.monitor.hang_thresholds import allowed_silence, gone_nodes, has_trained, step_seconds, unheard
from allranks.monitor.rank_stacks import frames_of
from allranks.monitor.run_state import DOUBT_SECONDS, RankState, RunState

EACH_TIME = True

BLOCK_SECONDS = 60.0
"""Twice the default lease, as for a silent rank: by then the others' stacks are read. A collective with a missing
rank does not end by itself."""

SLACK_SECONDS = 10.0
SLACK_STEPS = 2.0
"""How long the others may still move after a rank's end: host code runs some steps ahead of a GPU. Ranks that train
for longer did not need it."""

SAVES = re.compile(r"(^|/)torch/distributed/checkpoint/")

ALONE_SECONDS = 60.0
"""After the last step, or if more than half of the ranks are done, work after the training may take half an hour. A
rank that waits in a collective does no such work: for it, a minute is enough for three looks."""


class Leaver(NamedTuple):
    """`moved_at`: when the others moved last. `waiting`: whether it is known that all of them wait for another rank.
    `allowed`: for how many seconds they may stand still."""

    rank: RankState
    others: List[RankState]
    moved_at: float
    waiting: bool
    allowed: float


def detect(run: RunState, now: float) -> Iterator[Finding]:
    found, memory = leaver(run, now), run.memory_of(__name__)
    if found is None or not found.waiting:
        memory.clear()
    if found is None:
        return
    rank, since = found.rank, now - found.moved_at
    stop = found.waiting and since > max(BLOCK_SECONDS, 2.0 * found.allowed)
    # After the training a rank may have worked until now, so the order is: a warning, another look, then the stop.
    if found.waiting and has_trained(run):
        stop = now - memory.setdefault("waiting_at", now) > ALONE_SECONDS and stop
    total = rank.total_steps or run.total_steps
    at = "before its first step" if rank.step is None else f"at step {rank.step}"
    code = "with code 0" if rank.code == 0 else "and its torchrun reports no failure"
    evidence = [f"rank {rank.rank} on {rank.node} ended at {rank.ended_at}"]
    if found.waiting:
        places = {doing(frames_of(run, other.rank)) for other in found.others}
        evidence += [f"all {len(found.others)} others: {place}" for place in sorted(places)[:3]]
    yield Finding(
        id=RANK_EXITED_EARLY.id,
        verdict=BLOCK if stop else WARN,
        where=Where(node=rank.node, rank=rank.rank),
        saw=f"rank {rank.rank} on {rank.node} ended {code} {at}{f' of {total}' if total else ''}; the other"
        f" {len(found.others)} have not moved for {since:.0f} s.",
        expected="all ranks end together",
        why="the others wait for it in a collective; a time-out of 10 to 30 minutes would end it, and blame them.",
        fix=f"look for sys.exit, a return or an exhausted data set on rank {rank.rank} alone.",
        evidence=tuple(evidence),
    )


def leaver(run: RunState, now: float) -> Optional[Leaver]:
    """The first rank that left, if the others stand still; None if no rank left or the others continue.

    If half of the ranks or fewer remain, they may have work after the training (one per node that uploads or merges).
    They count only if it is known that they wait.
    """
    if run.quiet or now < run.paused_until:
        return None
    left = [r for r in run.ranks.values() if _has_left(run, r)]
    others = [r for r in run.ranks.values() if r.alive and r.phase != "done" and r.moved_at is not None]
    if not left or not others:
        return None
    rank = min(left, key=lambda r: (r.ended_at or 0.0, r.rank))
    moved, allowed = max(r.moved_at or 0.0 for r in others), allowed_silence(run)
    if allowed is None or now - moved <= min(allowed, ALONE_SECONDS) or _others_are_gone(run, now):
        return None
    # By the watcher's clock, like `moved_at`, even if a node's clock was set.
    ended = max(rank.ended_at or 0.0, rank.ended_heard_at or 0.0)
    if moved > ended + max(SLACK_SECONDS, SLACK_STEPS * (step_seconds(run) or 0.0)):
        return None
    waiting = _all_wait(run, others, moved)
    if waiting and has_trained(run):
        allowed = min(allowed, ALONE_SECONDS)
    unknown = waiting is None and 2 * len(others) <= len(run.ranks)
    if now - moved <= allowed or waiting is False or unknown:
        return None
    return Leaver(rank, others, moved, waiting is True, allowed)


def somebody_left(run: RunState) -> bool:
    """Whether a rank is known to have ended with 0 before the last step."""
    return any(_has_left(run, rank) for rank in run.ranks.values())


def work_alone(run: RunState) -> bool:
    """Whether half of the ranks or more have ended with 0 and all others are seen to work."""
    left = [r for r in run.ranks.values() if r.alive]
    moved, asked = run.moved_at, max(run.asked_at or 0.0, run.looked_at or 0.0)
    ended = sum(r.code == 0 for r in run.ranks.values())
    if not ended or 2 * len(left) > len(run.ranks) or moved is None or asked < moved:
        return False
    return all(_works(run, rank) for rank in left)


def _works(run: RunState, rank: RankState) -> bool:
    frames, told = frames_of(run, rank.rank), run.flights.get(rank.rank, Flight())
    if not frames or (waits(frames) and not _saves(frames)):
        return False
    queued = any(group.pending for group in told.groups or ())
    followed = not (rank.uuid or rank.bus_id) or told.is_followed  # its recorder shows whether a GPU waits
    return followed and not queued


def _others_are_gone(run: RunState, now: float) -> bool:
    """Whether a node or a rank is not heard: then the others wait for that one."""
    return bool(gone_nodes(run, now)) or bool(unheard(run, now)[0])


def _has_left(run: RunState, rank: RankState) -> bool:
    """Whether the rank ended with 0 before the last step. If its exit code is unknown, it was 0 if torchrun still
    runs after `DOUBT_SECONDS`: after any other code torchrun ends the ranks of its node and itself."""
    node = run.nodes.get(rank.node or "")
    unknown = rank.code is None and rank.gone_at is not None and (node is None or not node.ended_code)
    doubted = unknown and run.now - (rank.gone_at or 0.0) < DOUBT_SECONDS
    if rank.alive or not (rank.code == 0 or (unknown and not doubted)):
        return False
    total = rank.total_steps or run.total_steps
    return rank.step is None or total is None or rank.step < total


def _all_wait(run: RunState, others: List[RankState], moved: float) -> Optional[bool]:
    """Whether all others wait in a collective, by stacks that are newer than their last move; None if unknown.

    On a GPU a rank that reads the result of a queued collective also waits outside of torch.distributed.
    """
    asked = max(run.asked_at or 0.0, run.looked_at or 0.0)
    frames = {rank.rank: frames_of(run, rank.rank) for rank in others}
    if asked < moved or not all(frames.values()):
        return None
    outside = [rank for rank in others if not waits(frames[rank.rank]) or _saves(frames[rank.rank])]
    if not outside:
        return True
    return None if all(rank.uuid or rank.bus_id for rank in outside) else False


def _saves(frames: List[Frame]) -> bool:
    """Whether torch.distributed writes a checkpoint, and does not wait in a collective for it."""
    inner = [frame[0].replace("\\", "/") for frame in frames if WAITING.search(frame[0].replace("\\", "/"))]
    return bool(inner) and bool(SAVES.search(inner[-1]))
