"""Finds a rank that left with exit code 0 while the others continued. No table lists it, and the others blame each
other."""

from __future__ import annotations

from typing import List, NamedTuple, Optional

from allranks.core import Diagnosis
from allranks.diagnose.symptoms.rank_exited_early import CAUSE as RANK_EXITED_EARLY
from allranks.monitor.culprit import LATE_SECONDS, end_of_rank
from allranks.monitor.hang_thresholds import step_seconds
from allranks.monitor.run_state import RankState, RunState

SOON_SECONDS = 120.0
"""For how long after a rank's end the others' errors may come from it: gloo reports at once, and a stall is noticed
after 15 s or five steps. If no rank has moved since then, the time does not matter."""

MOVED_SECONDS = 5.0
"""For so many seconds other ranks may still end a step or two."""


def by_early_exit(run: RunState) -> Optional[Diagnosis]:
    """The rank that left with 0 before the last step, while others stayed."""
    staying = _staying(run)
    left = [r for r in run.ranks.values() if r.code == 0 and _before_the_end(r, run, staying)]
    numbers = {r.rank for r in left}
    others = [r for r in run.ranks.values() if r.rank not in numbers]
    if not left or not others:
        return None
    rank = min(left, key=lambda r: (r.ended_at or 0.0, r.rank))
    trouble = [*_lost_a_peer(others), *(r.ended_at for r in others if r.code and r.ended_at)]
    if trouble and min(trouble) < (rank.ended_at or 0.0) - LATE_SECONDS:
        return None
    return end_of_rank(
        run,
        rank,
        RANK_EXITED_EARLY.id,
        "certain" if rank.step is not None and rank.phase != "done" else "likely",
        [f"rank {rank.rank} on {rank.node} ended with code 0 at step {rank.step} of {_total(rank, run)}"],
        why="it left without an error, so torchrun's table does not list it; the others waited for it in a collective.",
        fix="look for sys.exit, a return or an exhausted data set on that rank alone.",
        guilty=left,
    )


def _total(rank: RankState, run: RunState) -> Optional[int]:
    return rank.total_steps or run.total_steps


class _Staying(NamedTuple):
    """The ranks that are not done: how many, when they reported errors, and when one of them moved last."""

    ranks: int
    trouble: List[float]
    moved_at: float


def _staying(run: RunState) -> _Staying:
    ranks = [r for r in run.ranks.values() if r.code != 0 and r.phase != "done"]
    trouble = [*_lost_a_peer(ranks), *(r.ended_at for r in ranks if r.code and r.ended_at)]
    if run.asked_at is not None and any(r.ended_at is None or r.ended_at > run.asked_at for r in ranks):
        trouble.append(run.asked_at)
    return _Staying(len(ranks), trouble, max((r.moved_at or 0.0 for r in ranks), default=0.0))


def _before_the_end(rank: RankState, run: RunState, staying: _Staying) -> bool:
    """Whether steps were left when the rank ended. Every rank that ends with 0 reports that it is done. If it does so
    too early, the others (at least as many) soon lose it as a peer (gloo), or stand still (NCCL) until they are
    asked, aborted or stopped. Otherwise its script ended as intended, and a rank that continues alone has its own
    fault."""
    total = _total(rank, run)
    if rank.step is not None and total is not None and rank.step >= total:
        return False
    if rank.phase != "done":
        return True
    if 2 * staying.ranks < len(run.ranks):
        return False
    end = rank.ended_at or 0.0
    heard = max(end, rank.ended_heard_at or 0.0)  # the watcher may have been away in between
    still = staying.moved_at <= heard + max(MOVED_SECONDS, 2 * (step_seconds(run) or 0.0))
    return any(end - LATE_SECONDS <= at and (still or at <= end + SOON_SECONDS) for at in staying.trouble)


def _lost_a_peer(ranks: List[RankState]) -> List[float]:
    """When they reported an exception; at this point all exceptions are communication errors."""
    return [event.at for rank in ranks for event in rank.exceptions]
