"""Whether the head itself was cut off: all other nodes fell silent within the same few seconds.

Nodes fail one by one; a cable at the head takes all of them away at once. With only one other node nobody can say which
end it was.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from allranks.monitor.hang_thresholds import FRESH_SECONDS, silent_nodes, step_seconds
from allranks.monitor.run_state import NodeState, RunState

TOGETHER_SECONDS = 3.0
"""Each supervisor is heard every second: nodes that were cut off together were last heard up to a second apart, and a
loaded machine is late."""

MOVED_SECONDS = 5.0
"""Ranks may still end a step or two after a node was last heard; a rank that trains longer does not need it."""


class CutOff(NamedTuple):
    """`at`: when the last of the `nodes` was heard."""

    head: str
    nodes: Tuple[str, ...]
    at: float


def cut_off(run: RunState, now: float) -> Optional[CutOff]:
    """The head without all others, now, or before if no step was taken since: when its link is back, the ends of the
    others' leases are a consequence."""
    found = _now(run, now)
    if found is not None:
        run.cut_off = found
        return found
    known: Optional[CutOff] = run.cut_off
    if known is None or any((r.step_at or 0.0) > known.at + moved_seconds(run) for r in run.ranks.values()):
        return None
    return known


def moved_seconds(run: RunState) -> float:
    """How long after a node was last heard steps may still end that had begun with it."""
    return max(MOVED_SECONDS, 2 * (step_seconds(run) or 0.0))


def _now(run: RunState, now: float) -> Optional[CutOff]:
    head = run.nodes.get(str(run.expect.get("head")))
    others = [node for node in run.open_nodes if node is not head and node.seen_at is not None]
    if head is None or not _on_machines_of_their_own(head, others):
        return None
    silent = silent_nodes(run, now)
    if not any(node.lost_at is not None or node.name in silent for node in others):
        return None
    if any(run.machine_lives(node) or now - (node.seen_at or 0.0) <= FRESH_SECONDS for node in others):
        return None
    last = max(node.seen_at or 0.0 for node in others)
    together = last - min(node.seen_at or 0.0 for node in others) <= TOGETHER_SECONDS
    if not together or run.aside_at > last + TOGETHER_SECONDS:
        return None
    return CutOff(head.name, tuple(node.name for node in others), last)


def _on_machines_of_their_own(head: NodeState, others: List[NodeState]) -> bool:
    """Whether the others are two machines or more: one machine with several nodes takes all of them away, too."""
    machines = {node.boot_id or node.name for node in others}
    return len(machines) > 1 and (head.boot_id or head.name) not in machines
