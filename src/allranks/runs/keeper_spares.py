"""Which node trains at which place: `launch.spares` keeps nodes back that take the place of one that failed.

The world size stays: a spare gets the node rank and the ranks of the node that is left out. The head stays where it
is, since the rendezvous and the keeper are there.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Container, Dict, Iterable, List, Mapping, NamedTuple, Optional

from allranks.core import Diagnosis, Event, xids
from allranks.diagnose.catalogue import cause as known
from allranks.monitor import Watch

FAILURES = 2
"""A node that failed twice is left out: once may be chance."""

INTRODUCTIONS = ("joined", "supervisor")
"""The events in which a node says that it is there, and who it is."""


class Swap(NamedTuple):
    """`node` is left out, and `by` takes its place."""

    node: str
    by: str
    why: str


class Places:
    """`task["places"]` are the places in the order of node ranks: `{"node": name, "ranks": [rank, …]}`."""

    def __init__(self, task: Mapping[str, Any]):
        places: List[Mapping[str, Any]] = list(task.get("places") or ())
        self.at: List[str] = [str(place["node"]) for place in places] or list(task["nodes"])
        self._training = set(self.at)
        self.first = list(self.at)
        self.ranks: List[List[int]] = [list(place.get("ranks") or ()) for place in places]
        self.spares: List[str] = [node for node in task["nodes"] if node not in self._training]
        self.failures: "Counter[str]" = Counter()
        self.said: Dict[str, Dict[str, Event]] = {}
        self.broken: Dict[str, str] = {}
        """Nodes with a GPU on which nothing can train, and what says so."""

    def trains(self, node: Optional[str]) -> bool:
        """Whether a node has ranks in this attempt. What others say is kept and not judged. Asked for every message."""
        return node in self._training

    def alive(self, node: str, watch: Watch, now: float) -> None:
        """A supervisor's sign of life: a spare's proves nothing but that the head can be heard."""
        if self.trains(node):
            watch.heard(node, now)
        else:
            watch.run.aside_at = now

    def keep(self, event: Event) -> None:
        """What a node that waits says of itself: the judge hears it when the node takes a place. Lost, it is not there
        until it joins again, which it says again; its supervisor speaks of its machine once only."""
        if event.kind == "lost":
            self.said.get(str(event.node), {}).pop("joined", None)
        if event.node in self.spares and event.kind in INTRODUCTIONS:
            self.said.setdefault(str(event.node), {})[event.kind] = event

    def introduce(self, swaps: Iterable[Swap], watch: Watch, now: float) -> None:
        """Tells the judge of the next attempt who the nodes are that took a place: without it their machine's boot is
        unknown, and one that falls silent would never have been there."""
        for swap in swaps:
            for event in self.said.pop(swap.by, {}).values():
                watch.add(event, arrived=now)

    def failed(self, cause: Optional[Diagnosis]) -> None:
        """Counts whose fault an attempt's end was."""
        if cause is not None and cause.where.node in self.at:
            self.failures[str(cause.where.node)] += 1
            xid = needs_reset(cause)
            if xid is not None:
                self.broken[str(cause.where.node)] = f"Xid {xid}"

    def swaps(self, missing: Iterable[str], there: Container[str], lost: Iterable[str]) -> List[Swap]:
        """Who would take whose place: of the nodes that are lost, then of those with a broken GPU or two failures.

        A node that is heard and is `missing`, since it has not said that its ranks are gone, keeps its place: a rank
        that hangs in the kernel goes on when its storage answers, and two at one place write one checkpoint.
        """
        spares = [node for node in self.spares if node in there]
        gone = [(node, "it does not answer") for node in self.at if node in set(missing) & set(lost)]
        there_yet = [node for node in self.at if node not in set(missing)]
        gone += [
            (node, f"a GPU of it must be reset ({self.broken[node]})")
            for node in there_yet
            if node in self.broken
        ]
        gone += [
            (node, f"it failed {self.failures[node]} times")
            for node in there_yet
            if self.failures[node] >= FAILURES and node not in self.broken
        ]
        able = [(node, why) for node, why in gone if node != self.at[0]]
        return [Swap(node, by, why) for (node, why), by in zip(able, spares)]

    def unable(self, swaps: Iterable[Swap]) -> str:
        """The nodes that would train again with a GPU that cannot; empty where there is none."""
        left = set(self.at) & set(self.broken) - {swap.node for swap in swaps}
        return ", ".join(f"{node} ({self.broken[node]})" for node in sorted(left))

    def apply(self, swaps: Iterable[Swap]) -> List[Dict[str, Any]]:
        """What the journal says of each."""
        notes = []
        for swap in swaps:
            place = self.at.index(swap.node)
            self.at[place] = swap.by
            self._training = set(self.at)
            self.spares.remove(swap.by)
            notes.append({**swap._asdict(), "ranks": self.ranks[place]})
        return notes

    def of(self, node: str) -> Dict[str, Any]:
        """What a node's supervisor is told of a place that is not the one of its job; nothing of its own."""
        rank = self.at.index(node)
        return {} if node == self.first[rank] else {"place": {"node_rank": rank, "ranks": self.ranks[rank]}}


def needs_reset(cause: Diagnosis) -> Optional[int]:
    """The Xid of a certain verdict after which the GPU must be reset. One that is only likely may be another job's."""
    if not known(cause.cause).resets_gpu or cause.confidence != "certain":
        return None
    return min((n for n in map(xids.needs_reset, cause.evidence) if n is not None), default=None)


def seconds_until_alone(
    gone: Iterable[str], nodes: Mapping[str, Any], job: Mapping[str, Any], now: float
) -> float:
    """Seconds until nodes that are not heard have surely stopped their ranks by themselves: their lease and grace time
    after they were heard last. Two nodes at one place could write one checkpoint."""
    own = float(job["lease_seconds"]) + float(job["grace_seconds"])
    heard = [nodes[name].seen_at for name in gone if name in nodes and nodes[name].seen_at is not None]
    return max(0.0, max(heard) + own - now) if heard else 0.0
