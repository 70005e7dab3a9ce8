"""Finds out whether the head itself was cut off: all other nodes fell silent within the same few seconds.

Nodes fail one by one, but a cable at the head takes all of them away at once. With only one other node, it is not
possible to say which end failed.
"""

from __future__ import annotations

from collections import Counter
from typing import List, NamedTuple, Optional, Tuple

from allranks.monitor.hang_thresholds import FRESH_SECONDS, silent_nodes, step_seconds
from allranks.monitor.run_state import NodeState, RunState

TOGETHER_SECONDS = 3.0
"""Each supervisor is heard every second, so nodes that were cut off together were last heard up to a second apart. A
loaded machine adds some lateness."""

MOVED_SECONDS = 5.0
"""Ranks may still end a step or two after a node was last heard. A rank that trains for longer does not need the
node."""


class CutOff(NamedTuple):
    """The head and the `nodes` that it lost. `at`: when the last of them was heard."""

    head: str
    nodes: Tuple[str, ...]
    at: float


def cut_off(run: RunState, now: float) -> Optional[CutOff]:
    """The cut-off, if the head is alone now, or was alone before and no step was taken since. When its link is back,
    the ends of the others' leases are a consequence."""
    found = _now(run, now)
    if found is not None:
        run.cut_off = found
        return found
    known: Optional[CutOff] = run.cut_off
    if known is None or any((r.step_at or 0.0) > known.at + moved_seconds(run) for r in run.ranks.values()):
        return None
    return known


def moved_seconds(run: RunState) -> float:
    """For how long after a node was last heard the steps that it took part in may still end."""
    return max(MOVED_SECONDS, 2 * (step_seconds(run) or 0.0))


def _now(run: RunState, now: float) -> Optional[CutOff]:
    head = run.nodes.get(str(run.expect.get("head")))
    others = [node for node in run.open_nodes if node is not head and node.seen_at is not None]
    if head is None or not _on_machines_of_their_own(head, others):
        return None
    silent = silent_nodes(run, now)
    if not any(node.lost_at is not None or node.name in silent for node in others):
        return None
    if any(now - (node.seen_at or 0.0) <= FRESH_SECONDS for node in others) or _one_lives(run, others):
        return None
    last = max(node.seen_at or 0.0 for node in others)
    together = last - min(node.seen_at or 0.0 for node in others) <= TOGETHER_SECONDS
    if not together or run.aside_at > last + TOGETHER_SECONDS:
        return None
    return CutOff(head.name, tuple(node.name for node in others), last)


def _one_lives(run: RunState, nodes: List[NodeState]) -> bool:
    """`run.machine_lives` of any of them, in one pass: this is asked at each lost connection of a thousand."""
    heard = Counter(node.boot_id for node in run.nodes.values() if node.boot_id and node.lost_at is None)
    return any(node.lost_why == "closed" or heard[node.boot_id] > (node.lost_at is None) for node in nodes)


def _on_machines_of_their_own(head: NodeState, others: List[NodeState]) -> bool:
    """Whether the others are two machines or more. If several nodes are one machine, that machine takes all of them
    away, too."""
    machines = {node.boot_id or node.name for node in others}
    return len(machines) > 1 and (head.boot_id or head.name) not in machines
