"""How fast a run goes and how long its silence may be: shared by the detectors of stalls.

The thresholds answer the contract "a stall is seen within max(15 s, 5 × step time)", less what a beat (1 s),
its way to the keeper and a tick (1 s) take; a run whose steps vary widely is given longer.
"""

from __future__ import annotations

from math import exp, log
from statistics import median
from typing import List, Optional, Tuple

from allranks.monitor import pause_history
from allranks.monitor.node_event_handlers import STOPPED
from allranks.monitor.run_state import RankState, RunState

LEAST_SECONDS = 12.5
STEP_FACTOR = 5.0
STEP_LATE_SECONDS = 2.5
"""What a beat, its way and a tick take: so much earlier than five steps the clock runs out."""

LONGEST_FACTOR = 1.5
"""A step may take half as long again as the longest of the last 64: a run with slow steps among fast ones (an
evaluation that no phase tells, a slow disk) is known by its spread, not by its median."""

SPREADS = 6.0
"""And as long as six standard deviations of the steps' logarithms above the median: step times are skewed, and a
run whose steps vary by a factor is not hanging at five times its median."""

SPREAD_MOST = 3.0
"""But no longer than three times the longest of them: where every second step is a slow one (a rollout, then an update
on it), the spread is that of two kinds of steps and would allow days."""

MAD_TO_SIGMA = 1.4826
FEW_STEPS = 3
WARM_STEPS = 2
"""The first steps of a process compile, allocate and fill caches: they say nothing of its pace."""

EARLY_STEPS = 10
EARLY_SECONDS = 60.0
"""New shapes still compile during the first ten steps: until then a step may take a minute, or half as long again
as the first one."""

FIRST_STEP_SECONDS = 600.0
"""NCCL's own default time-out (10 min): in the first five steps (`WARM_STEPS` and `FEW_STEPS`) an honest wait
(compilation, a build of an operator, the first all-gather) and a hang look the same."""

START_SECONDS = 1800.0
"""torch's default process-group time-out for gloo (30 min): loading, preparing, compiling and the work after the last
step may take as long."""

BETWEEN_SECONDS = 30.0
BETWEEN_FACTOR = 3.0
"""An evaluation or a save may take three times as long as the longest so far, and the first one as long as it
takes until its own limit, `FIRST_BETWEEN_SECONDS`."""

FIRST_BETWEEN_SECONDS = 900.0
STARTING = frozenset(("importing", "loading", "preparing"))
SAMPLED_RANKS = 16
"""Ranks whose steps are looked at: in data parallelism all take the same step."""


def alive(run: RunState) -> List[RankState]:
    return [rank for rank in run.ranks.values() if rank.alive]


def step_seconds(run: RunState) -> Optional[float]:
    """The median step of the last 64, None until three were measured after the first two: until five are taken."""
    seconds = _recent(run)
    return median(seconds) if len(seconds) >= FEW_STEPS else None


def longest_step(run: RunState) -> Optional[float]:
    seconds = _recent(run)
    return max(seconds) if len(seconds) >= FEW_STEPS else None


def _recent(run: RunState) -> List[float]:
    """The recent steps, without the first ones, of the rank that has measured most of them among the first few."""
    best: List[float] = []
    for number, rank in enumerate(run.ranks.values()):
        if number >= SAMPLED_RANKS:
            break
        if len(rank.seconds) > len(best):
            gone = rank.steps_seen - len(rank.seconds)
            best = list(rank.seconds)[max(0, WARM_STEPS - gone) :]
    return best


def steps_seen(run: RunState) -> int:
    """How many steps of this process were measured."""
    return max((rank.steps_seen for rank in list(run.ranks.values())[:SAMPLED_RANKS]), default=0)


def allowed_silence(run: RunState) -> Optional[float]:
    """Seconds in which something must move, by the phase of the rank furthest from training; None: no limit."""
    living = alive(run)
    phases = {rank.phase for rank in living if not rank.unread} or {rank.phase for rank in living}
    if phases & STARTING:
        return START_SECONDS
    if "compiling" in phases:
        return max(START_SECONDS, BETWEEN_FACTOR * run.longest.get("compiling", 0.0))
    if most_are_done(run):
        return START_SECONDS
    for phase in ("saving", "evaluating"):
        if phase in phases:
            known = run.longest.get(phase)
            if known is None or has_trained(run):  # after the last step the whole test set, the whole model
                return max(FIRST_BETWEEN_SECONDS, BETWEEN_FACTOR * (known or 0.0))
            return max(BETWEEN_SECONDS, BETWEEN_FACTOR * known)
    if "training" not in phases:
        return None
    if has_trained(run):
        return START_SECONDS
    typical, longest = step_seconds(run), longest_step(run)
    if typical is None or longest is None:
        return FIRST_STEP_SECONDS
    if steps_seen(run) < EARLY_STEPS:
        first = max(
            (r.seconds[0] for r in list(run.ranks.values())[:SAMPLED_RANKS] if r.seconds), default=0.0
        )
        return max(EARLY_SECONDS, LONGEST_FACTOR * first, STEP_FACTOR * typical)
    paced = STEP_FACTOR * typical - STEP_LATE_SECONDS
    return max(
        LEAST_SECONDS, paced, LONGEST_FACTOR * longest, _spread(_recent(run)), pause_history.allowed(run)
    )


def has_trained(run: RunState) -> bool:
    """Whether the steps are over: all that are left stand at the last one, or more than half of the ranks are done.
    What a script does then (merging, uploading) takes as long as it takes, often on one rank alone."""
    left = _left(run)
    return most_are_done(run) or (
        bool(left)
        and all(rank.step is not None and rank.step == (rank.total_steps or run.total_steps) for rank in left)
    )


def most_are_done(run: RunState) -> bool:
    """Whether more than half of the ranks are done, whatever phase the others stand in: an evaluation that ends the
    training is told until its rank takes part in something again."""
    done = sum(rank.code == 0 or (rank.alive and rank.phase == "done") for rank in run.ranks.values())
    return done > len(_left(run))


def _left(run: RunState) -> List[RankState]:
    return [rank for rank in run.ranks.values() if rank.alive and rank.phase != "done"]


def _spread(seconds: List[float]) -> float:
    """The step that these steps' own spread still allows."""
    logs = [log(max(s, 1e-3)) for s in seconds]
    middle = median(logs)
    far = middle + SPREADS * MAD_TO_SIGMA * median(abs(x - middle) for x in logs)
    return exp(min(far, max(logs) + log(SPREAD_MOST)))


def allowed_gap(run: RunState, rank: RankState) -> float:
    """Seconds in which a rank must beat. Its beats come from a thread of its own, so they stop only where the
    process is frozen or holds Python's lock in one long call, as loading or a first step may: there only a process
    that the node has seen stopped since its last beat is called silent as soon."""
    steps = rank.step is not None and rank.phase in ("training", "evaluating", "saving")
    if steps or sampled_state(run, rank) == "T":
        return max(LEAST_SECONDS - 1.5, GAP_FACTOR * run.beat_gap)
    return 60.0


def sampled_state(run: RunState, rank: RankState) -> Optional[str]:
    """The process's state in the node's last sample, where that is newer than the rank's last beat."""
    node = run.nodes.get(rank.node or "")
    if node is None or node.sample_at is None or node.sample_at < (rank.beat_at or 0.0):
        return None
    entry = node.sample.ranks.get(str(rank.rank))
    return (entry.state or None) if entry is not None else None


GAP_FACTOR = 4.0
"""Beats may come four times as late as the latest of the training so far: a loaded machine is late often."""

FRESH_SECONDS = 5.0


SAMPLE_SECONDS = 12.5
"""Two samples of a node (one each 5 s) and their way: so long what the last one showed counts as now."""


def unheard(run: RunState, now: float) -> Tuple[List[RankState], List[RankState]]:
    """(ranks whose beats stopped, ranks that are heard), of those that live. If no rank is heard, that may be the
    keeper's own trouble, and proves nothing about a rank: then those alone that their node has seen stopped."""
    living = [r for r in run.ranks.values() if r.alive and r.beat_at is not None and r.phase != "done"]
    silent = [r for r in living if now - (r.beat_at or now) > allowed_gap(run, r)]
    fresh = [r for r in living if now - (r.beat_at or 0.0) <= FRESH_SECONDS]
    return (silent, fresh) if fresh else ([r for r in silent if seen_stopped(run, r, now)], [])


def seen_stopped(run: RunState, rank: RankState, now: float) -> bool:
    """Whether its node shows its process stopped, now and since its last beat: proof by itself, whatever the other
    ranks do."""
    node = run.nodes.get(rank.node or "")
    fresh = node is not None and node.lost_at is None and now - (node.sample_at or 0.0) <= SAMPLE_SECONDS
    return fresh and sampled_state(run, rank) in STOPPED


NODE_SECONDS = 10.0
"""A supervisor says each second that it lives, and sends a sample every five: two of these and ten of those."""

NODE_MOST_SECONDS = 30.0


def silent_nodes(run: RunState, now: float) -> List[str]:
    """Nodes of which neither a rank nor the supervisor is heard, whatever their ranks do: for ten seconds, or for four
    times the longest silence of a living node so far. None where nobody is heard: that is the keeper's own trouble."""
    allowed = min(NODE_MOST_SECONDS, max(NODE_SECONDS, GAP_FACTOR * run.node_gap))
    active = [node for node in run.open_nodes if node.seen_at is not None]
    if not any(now - (node.seen_at or 0.0) <= FRESH_SECONDS for node in active):
        return []
    return sorted(node.name for node in active if now - (node.seen_at or 0.0) > allowed)


def gone_nodes(run: RunState, now: float) -> List[str]:
    """The nodes that are silent or that the keeper has lost, before their torchrun's end: the others wait for them."""
    return [*silent_nodes(run, now), *(node.name for node in run.open_nodes if node.lost_at is not None)]
