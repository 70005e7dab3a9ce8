"""Assigns nodes to places: `launch.spares` keeps nodes back to replace nodes that fail.

The world size stays the same: a spare gets the node rank and the ranks of the node that is left out. The head always
stays, since the rendezvous and the keeper are there.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Container, Dict, Iterable, List, Mapping, NamedTuple, Optional

from allranks.core import Diagnosis, Event, xids
from allranks.core.run_events import Replaced
from allranks.diagnose.catalogue import cause as known
from allranks.monitor import Watch

FAILURES = 2
"""A node that has failed twice is left out. A single failure may be chance."""

INTRODUCTIONS = ("joined", "supervisor")
"""The events in which a node reports that it is present and which machine it is."""


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
        """Nodes with a GPU that needs a reset, and the Xid that shows it."""

    def trains(self, node: Optional[str]) -> bool:
        """Whether a node has ranks in this attempt. Events of other nodes are kept and not judged."""
        return node in self._training

    def alive(self, node: str, watch: Watch, now: float) -> None:
        """Notes a supervisor's sign of life. The one of a spare only proves that the head can be reached."""
        if self.trains(node):
            watch.heard(node, now)
        else:
            watch.run.aside_at = now

    def keep(self, event: Event) -> None:
        """Keeps the events in which a spare has introduced itself, for the judge of the attempt in which it takes a
        place. A lost spare counts as absent until it joins again; its supervisor describes its machine only once."""
        if event.kind == "lost":
            self.said.get(str(event.node), {}).pop("joined", None)
        if event.node in self.spares and event.kind in INTRODUCTIONS:
            self.said.setdefault(str(event.node), {})[event.kind] = event

    def introduce(self, swaps: Iterable[Swap], watch: Watch, now: float) -> None:
        """Introduces the nodes that took a place to the judge of the next attempt: it must know their boot ids, and
        that they are present."""
        for swap in swaps:
            for event in self.said.pop(swap.by, {}).values():
                watch.add(event, arrived=now)

    def failed(self, cause: Optional[Diagnosis]) -> None:
        """Counts the failure for the node that caused it."""
        if cause is not None and cause.where.node in self.at:
            self.failures[str(cause.where.node)] += 1
            xid = needs_reset(cause)
            if xid is not None:
                self.broken[str(cause.where.node)] = f"Xid {xid}"

    def swaps(self, missing: Iterable[str], there: Container[str], lost: Iterable[str]) -> List[Swap]:
        """The swaps that are possible: lost nodes come first, then those with a broken GPU or two failures.

        If a node is heard but `missing`, because it has not reported that its ranks are gone, it keeps its place: a
        rank that hangs in the kernel continues when its storage answers, and would write the same checkpoint as the
        spare's rank.
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
        """The nodes that would train again with a GPU that needs a reset; empty if there are none."""
        left = set(self.at) & set(self.broken) - {swap.node for swap in swaps}
        return ", ".join(f"{node} ({self.broken[node]})" for node in sorted(left))

    def apply(self, swaps: Iterable[Swap]) -> List[Replaced]:
        """Makes the swaps. Returns an event for the journal for each."""
        notes = []
        for swap in swaps:
            place = self.at.index(swap.node)
            self.at[place] = swap.by
            self._training = set(self.at)
            self.spares.remove(swap.by)
            notes.append(Replaced(**swap._asdict(), ranks=self.ranks[place]))
        return notes

    def of(self, node: str) -> Dict[str, Any]:
        """The order to a node's supervisor about its place, if that differs from the place in its job."""
        rank = self.at.index(node)
        return {} if node == self.first[rank] else {"place": {"node_rank": rank, "ranks": self.ranks[rank]}}


def needs_reset(cause: Diagnosis) -> Optional[int]:
    """The Xid after which the GPU must be reset, if the verdict is certain: a likely one may belong to another job."""
    if not known(cause.cause).resets_gpu or cause.confidence != "certain":
        return None
    return min((n for n in map(xids.needs_reset, cause.evidence) if n is not None), default=None)


def seconds_until_alone(
    gone: Iterable[str], nodes: Mapping[str, Any], job: Mapping[str, Any], now: float
) -> float:
    """Seconds until nodes that are not heard have certainly stopped their ranks by themselves: lease and grace time
    after they were last heard. Before that, two nodes at one place could write the same checkpoint."""
    own = float(job["lease_seconds"]) + float(job["grace_seconds"])
    heard = [nodes[name].seen_at for name in gone if name in nodes and nodes[name].seen_at is not None]
    return max(0.0, max(heard) + own - now) if heard else 0.0
