"""Finds the lost node: its connection ended, or it was silent before the others' errors."""

from __future__ import annotations

from typing import List, Optional

from allranks.core import Diagnosis, Where
from allranks.diagnose.symptoms.node_failure import CAUSE as NODE_FAILURE
from allranks.monitor.culprit import LATE_SECONDS, collateral
from allranks.monitor.detectors.head_cut_off import CAUSE as HEAD_CUT_OFF
from allranks.monitor.detectors.lease_lost import CAUSE as LEASE_LOST
from allranks.monitor.detectors.supervisor_lost import CAUSE as SUPERVISOR_LOST
from allranks.monitor.hang_thresholds import NODE_SECONDS
from allranks.monitor.head_isolation import CutOff, cut_off, moved_seconds
from allranks.monitor.run_state import NodeState, RunState


def lost_nodes(run: RunState) -> List[str]:
    lost = [n for n in run.open_nodes if n.lost_at is not None]
    early = [n for n in lost if run.stopping_at is None or (n.lost_at or 0.0) <= run.stopping_at]
    return [n.name for n in sorted(early, key=lambda n: n.lost_at or 0.0)]


def gone_before(run: RunState) -> List[str]:
    """Nodes that fell silent ten seconds before the first sign of trouble, or were lost before it. Without them
    nothing moved any longer, so everything after that is a consequence. TCP may report the loss half a minute later."""
    trouble = run.trouble_at
    if trouble is None:
        return []
    heard = [n for n in run.open_nodes if n.joined_at is not None and n.seen_at is not None]
    found = [n for n in heard if _gone_at(n) < trouble - LATE_SECONDS]
    still = [n for n in found if not run.machine_lives(n) and not _moved_without(run, n)]
    return [n.name for n in sorted(still, key=lambda n: (n.seen_at or 0.0, n.name))]


def _gone_at(node: NodeState) -> float:
    silent = (node.seen_at or 0.0) + NODE_SECONDS
    return silent if node.lost_at is None else min(silent, node.lost_at)


def _moved_without(run: RunState, node: NodeState) -> bool:
    spare = moved_seconds(run)
    moved = [r.moved_at or 0.0 for r in run.ranks.values() if r.node != node.name]
    return any(at > (node.seen_at or 0.0) + spare for at in moved)


def by_node(run: RunState) -> Optional[Diagnosis]:
    alone = cut_off(run, run.now)
    if alone is not None:
        return _cut_off(run, alone)
    lost = lost_nodes(run) or gone_before(run)
    if lost:
        return _lost(run, run.nodes[lost[0]])
    return _lease_lost(run) if _leases(run) else None


def _leases(run: RunState) -> List[NodeState]:
    """Nodes whose lease ended, ordered by that time."""
    found = [n for n in run.nodes.values() if n.lease_lost_at is not None]
    return sorted(found, key=lambda n: (n.lease_lost_at or 0.0, n.name))


def lease_came_first(run: RunState) -> bool:
    """Whether a lease ended before any rank failed: then the others miss the ranks that the node stopped."""
    first = next((n.lease_lost_at for n in _leases(run)), None)
    if first is None:
        return False
    failed = [e.at for r in run.ranks.values() for e in r.exceptions]
    failed += [r.gone_at for r in run.ranks.values() if r.gone_at is not None]
    return all(at > first - LATE_SECONDS for at in failed)


def _cut_off(run: RunState, alone: CutOff) -> Diagnosis:
    return Diagnosis(
        cause=HEAD_CUT_OFF.id,
        confidence="likely",
        where=Where(node=alone.head),
        first_seen=alone.at,
        evidence=(f"all {len(alone.nodes)} other nodes ({', '.join(alone.nodes[:8])}) fell silent together",),
        collateral=collateral(run, []),
        why="nodes fail one by one: most likely it was the head's own link, and the other nodes are well. They stop"
        " their ranks when they hear nothing from the keeper on the head.",
        fix=f"look at {alone.head}: its cable, its switch port, its interface; then at the switch or the power that the"
        " others share.",
    )


def _lost(run: RunState, node: NodeState) -> Diagnosis:
    closed = run.machine_lives(node)
    what = "its supervisor's connection was closed" if closed else "it no longer sent anything"
    before = []
    if run.trouble_at is not None and node.seen_at is not None and run.trouble_at > node.seen_at:
        before = [f"the first error elsewhere came {run.trouble_at - node.seen_at:.1f} s after its last word"]
    return Diagnosis(
        cause=SUPERVISOR_LOST.id if closed else NODE_FAILURE.id,
        confidence="likely",
        where=Where(node=node.name),
        first_seen=node.lost_at if node.lost_at is not None else node.seen_at,
        evidence=(f"{node.name}: {what}", f"last heard at {node.seen_at}", *before),
        collateral=collateral(run, [r for r in run.ranks.values() if r.node == node.name]),
        why="the machine still answers for its sockets, its supervisor does not."
        if closed
        else "the machine, its kernel or its network is gone; the ranks elsewhere only lost their peers.",
        fix=f"read supervisor.log on {node.name}."
        if closed
        else f"look at {node.name}: power, kernel log, network.",
    )


def _lease_lost(run: RunState) -> Diagnosis:
    """If several leases ended, it names the head: nodes fail one by one, and a single silent keeper explains all of
    them."""
    lost = _leases(run)
    names, several = ", ".join(n.name for n in lost[:8]), len(lost) > 1
    head = run.expect.get("head") if several else None
    return Diagnosis(
        cause=LEASE_LOST.id,
        confidence="likely",
        where=Where(node=str(head) if head else lost[0].name),
        first_seen=lost[0].lease_lost_at,
        evidence=(f"{names}: {'their leases' if several else 'the lease'} ended",),
        collateral=collateral(run, []),
        why="the nodes heard nothing from the keeper and stopped their own ranks."
        if several
        else "the node heard nothing from the keeper and stopped its own ranks.",
        fix=f"look at {head or 'the head'}: its load and memory, and its network to the other nodes."
        if several
        else f"look at the network between {lost[0].name} and the head.",
    )
