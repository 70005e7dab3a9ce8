"""How fast a run goes and for how long it may stand still. All detectors of stalls use it.

allranks reports a stall within max(15 s, 5 × step time). The limits here are shorter by a heartbeat (1 s), its way to
the keeper and a tick (1 s). A run whose steps vary widely gets longer limits.
"""

from __future__ import annotations

from itertools import islice
from math import exp, log
from statistics import median
from typing import List, Optional, Tuple

from allranks.monitor import pause_history
from allranks.monitor.node_event_handlers import STOPPED
from allranks.monitor.run_state import RankState, RunState

LEAST_SECONDS = 12.5
STEP_FACTOR = 5.0
STEP_LATE_SECONDS = 2.5
"""For a heartbeat, its way and a tick: the limit ends earlier than five steps by this much."""

LONGEST_FACTOR = 1.5
"""A step may take 1.5 times as long as the longest of the last 64, since a run may have slow steps among fast ones
(an evaluation without a phase, a slow disk)."""

SPREADS = 6.0
"""A step may also take as long as six standard deviations of the steps' logarithms above the median: step times are
skewed, and a step of five times the median is not a hang if steps vary by a factor."""

SPREAD_MOST = 3.0
"""A step may not take longer than three times the longest of them: if every second step is slow (a rollout, then an
update), the spread would allow days."""

MAD_TO_SIGMA = 1.4826
FEW_STEPS = 3
WARM_STEPS = 2
"""The first steps of a process compile, allocate and fill caches, so they do not show its pace."""

EARLY_STEPS = 10
EARLY_SECONDS = 60.0
"""New shapes still compile during the first ten steps. Until then a step may take a minute, or 1.5 times as long as
the first one."""

FIRST_STEP_SECONDS = 600.0
"""NCCL's own default time-out (10 min). In the first five steps (`WARM_STEPS` and `FEW_STEPS`) a normal wait
(compilation, a build of an operator, the first all-gather) and a hang look the same."""

START_SECONDS = 1800.0
"""torch's default process-group time-out for gloo (30 min). Loading, preparing, compiling and the work after the last
step may take as long."""

BETWEEN_SECONDS = 30.0
BETWEEN_FACTOR = 3.0
"""An evaluation or a save may take three times as long as the longest so far; the first one may take
`FIRST_BETWEEN_SECONDS`."""

FIRST_BETWEEN_SECONDS = 900.0
STARTING = frozenset(("importing", "loading", "preparing"))
SAMPLED_RANKS = 16
"""The steps of at most so many ranks are read: in data parallelism all ranks take the same steps."""


def alive(run: RunState) -> List[RankState]:
    return [rank for rank in run.ranks.values() if rank.alive]


def step_seconds(run: RunState) -> Optional[float]:
    """The median of the last 64 steps. None until five steps are taken: the first two do not count, and three must be
    measured."""
    seconds = _recent(run)
    return median(seconds) if len(seconds) >= FEW_STEPS else None


def longest_step(run: RunState) -> Optional[float]:
    seconds = _recent(run)
    return max(seconds) if len(seconds) >= FEW_STEPS else None


def _recent(run: RunState) -> List[float]:
    """The recent steps, without the first ones, of the sampled rank that has measured most steps."""
    best: List[float] = []
    for rank in islice(run.ranks.values(), SAMPLED_RANKS):
        if len(rank.seconds) > len(best):
            gone = rank.steps_seen - len(rank.seconds)
            best = list(rank.seconds)[max(0, WARM_STEPS - gone) :]
    return best


def steps_seen(run: RunState) -> int:
    """How many steps of this process were measured."""
    return max((rank.steps_seen for rank in islice(run.ranks.values(), SAMPLED_RANKS)), default=0)


def allowed_silence(run: RunState) -> Optional[float]:
    """The seconds within which something must move, by the phase of the rank furthest from training. None means no
    limit."""
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
            if known is None or has_trained(run):  # after the last step: the whole test set or model
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
        sampled = islice(run.ranks.values(), SAMPLED_RANKS)
        first = max((r.seconds[0] for r in sampled if r.seconds), default=0.0)
        return max(EARLY_SECONDS, LONGEST_FACTOR * first, STEP_FACTOR * typical)
    paced = STEP_FACTOR * typical - STEP_LATE_SECONDS
    return max(
        LEAST_SECONDS, paced, LONGEST_FACTOR * longest, _spread(_recent(run)), pause_history.allowed(run)
    )


def has_trained(run: RunState) -> bool:
    """Whether the steps are over: all remaining ranks are at the last step, or more than half of the ranks are done.
    The script's work after that (merging, uploading) may take long, often on one rank alone."""
    left = _left(run)
    return most_are_done(run) or (
        bool(left)
        and all(rank.step is not None and rank.step == (rank.total_steps or run.total_steps) for rank in left)
    )


def most_are_done(run: RunState) -> bool:
    """Whether more than half of the ranks are done, whatever phase the others report: a rank stays in the phase of
    its last evaluation until it does something else."""
    done = sum(rank.code == 0 or (rank.alive and rank.phase == "done") for rank in run.ranks.values())
    return done > len(_left(run))


def _left(run: RunState) -> List[RankState]:
    return [rank for rank in run.ranks.values() if rank.alive and rank.phase != "done"]


def _spread(seconds: List[float]) -> float:
    """The longest step that the spread of these steps allows."""
    logs = [log(max(s, 1e-3)) for s in seconds]
    middle = median(logs)
    far = middle + SPREADS * MAD_TO_SIGMA * median(abs(x - middle) for x in logs)
    return exp(min(far, max(logs) + log(SPREAD_MOST)))


def allowed_gap(run: RunState, rank: RankState) -> float:
    """The seconds within which a rank must send a heartbeat. A separate thread sends heartbeats, so they only stop if
    the process is frozen or holds Python's lock in one long call. Loading or a first step may do that; then the limit
    is longer, unless the node has seen the process stopped since its last heartbeat."""
    steps = rank.step is not None and rank.phase in ("training", "evaluating", "saving")
    if steps or sampled_state(run, rank) == "T":
        return max(LEAST_SECONDS - 1.5, GAP_FACTOR * run.beat_gap)
    return 60.0


def sampled_state(run: RunState, rank: RankState) -> Optional[str]:
    """The process's state in the node's last sample, if that is newer than the rank's last heartbeat."""
    node = run.nodes.get(rank.node or "")
    if node is None or node.sample_at is None or node.sample_at < (rank.beat_at or 0.0):
        return None
    entry = node.sample.ranks.get(str(rank.rank))
    return (entry.state or None) if entry is not None else None


GAP_FACTOR = 4.0
"""Heartbeats may come four times as late as the latest one so far: a loaded machine is often late."""

FRESH_SECONDS = 5.0

SAMPLE_SECONDS = 12.5
"""The last sample counts as current for so long: two samples of a node (one per 5 s) and their way to the keeper."""


def unheard(run: RunState, now: float) -> Tuple[List[RankState], List[RankState]]:
    """(ranks whose heartbeats stopped, ranks that are heard), of the living ones. If no rank is heard, the keeper
    itself may be the reason; then only ranks that their node has seen stopped count."""
    living = [r for r in run.ranks.values() if r.alive and r.beat_at is not None and r.phase != "done"]
    silent = [r for r in living if now - (r.beat_at or now) > allowed_gap(run, r)]
    fresh = [r for r in living if now - (r.beat_at or 0.0) <= FRESH_SECONDS]
    return (silent, fresh) if fresh else ([r for r in silent if seen_stopped(run, r, now)], [])


def seen_stopped(run: RunState, rank: RankState, now: float) -> bool:
    """Whether the rank's node shows its process stopped, now and since its last heartbeat. That is proof, whatever
    the other ranks do."""
    node = run.nodes.get(rank.node or "")
    fresh = node is not None and node.lost_at is None and now - (node.sample_at or 0.0) <= SAMPLE_SECONDS
    return fresh and sampled_state(run, rank) in STOPPED


NODE_SECONDS = 10.0
"""A supervisor sends a sign of life each second and a sample every five seconds: after this time ten signs and two
samples are missing."""

NODE_MOST_SECONDS = 30.0


def silent_nodes(run: RunState, now: float) -> List[str]:
    """Nodes from which neither a rank nor the supervisor was heard for ten seconds, or for four times the longest
    silence of a living node so far. Empty if no node is heard: then the keeper itself is the reason."""
    allowed = min(NODE_MOST_SECONDS, max(NODE_SECONDS, GAP_FACTOR * run.node_gap))
    active = [node for node in run.open_nodes if node.seen_at is not None]
    if not any(now - (node.seen_at or 0.0) <= FRESH_SECONDS for node in active):
        return []
    return sorted(node.name for node in active if now - (node.seen_at or 0.0) > allowed)


def gone_nodes(run: RunState, now: float) -> List[str]:
    """The nodes that are silent or lost before their torchrun has ended: the others wait for them."""
    return [*silent_nodes(run, now), *(node.name for node in run.open_nodes if node.lost_at is not None)]
