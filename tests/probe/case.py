"""Simulated clusters for the cases of the probe's findings: a healthy one, and what is changed in it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from allranks.core import Cluster, Node
from allranks.probe.results import DATA, OK, RENDEZVOUS, Collective, Dial, Ear, Link, Pair, RankSaid, Results
from allranks.spec.run import Network, Run, Train

RATE, LATENCY = 1.18e9, 80e-6
"""10 Gb/s Ethernet less its headers, and a round trip through one switch."""


class Simulated:
    """A cluster whose nodes are `n0`, `n1`, … at 10.0.0.1, 10.0.0.2, …; `n0` is the head."""

    def __init__(self, nodes: int = 4, interface: str = "auto"):
        self.nodes = [Node(f"n{i}", f"10.0.0.{i + 1}", i) for i in range(nodes)]
        cluster = Cluster(tuple(self.nodes))
        self.run = Run("sim", cluster, Train("command"), network=Network(interface=interface))
        self.ears = {node.name: self._ear(node) for node in self.nodes}
        self.dials = {}
        for node in self.nodes:
            for other in self.nodes:
                self._dial(node, other)
        self.rates = {pair: RATE for pair in self.dials if pair[2] == DATA}
        self.collectives = [collective("one rank per node", [node.name for node in self.nodes])]
        self.rdma: list[Link] = []
        self.unreached: dict[str, str] = {}
        self.skipped: dict[str, str] = {}

    def _ear(self, node: Node) -> Ear:
        return Ear(
            node.name,
            interface="eth0",
            address=node.address,
            port=40000,
            ports={39500: None} if node.rank == 0 else {},
            source=node.address,
            way="eth0",
            addresses=frozenset({node.address, "127.0.0.1"}),
            hostname=node.name,
        )

    def _dial(self, node: Node, other: Node) -> None:
        if other.rank == 0:
            clock = (0.0002, 0.0001)
            self.dials[node.name, other.name, RENDEZVOUS] = connected(node, other, RENDEZVOUS, 39500, clock)
        if node is not other:
            self.dials[node.name, other.name, DATA] = connected(node, other, DATA, 40000, None)

    # ---- changes ----

    def breaks(self, source: str, target: str, kind: str, outcome: str = "dropped", **more) -> None:
        """What became of one connection; a broken data connection carries nothing."""
        there = self.dials[source, target, kind]
        text = more.pop("text", f"no answer within 4 s ({outcome})")
        more = {"seconds": None, "saw": None, "answered_by": None, **more}
        self.dials[source, target, kind] = replace(there, outcome=outcome, text=text, **more)
        if kind == DATA:
            self.rates.pop((source, target, DATA), None)

    def cuts(
        self,
        node: str,
        inbound: bool = True,
        outbound: bool = True,
        kinds: Sequence[str] = (DATA, RENDEZVOUS),
    ) -> None:
        """Everything into a node, out of it, or both is dropped."""
        for source, target, kind in list(self.dials):
            into, out = target == node and inbound, source == node and outbound
            if source != target and kind in kinds and (into or out):
                self.breaks(source, target, kind)

    def slows(self, source: str, target: str, share: float) -> None:
        self.rates[source, target, DATA] *= share

    def hears(self, node: str, **changed) -> None:
        """Changes what a node's listener said of itself."""
        self.ears[node] = replace(self.ears[node], **changed)

    def results(self) -> Results:
        links = tuple(Link(source, target, rate, LATENCY) for (source, target, _), rate in self.rates.items())
        return Results(
            nodes=tuple(node.name for node in self.nodes),
            ears=dict(self.ears),
            dials=tuple(self.dials.values()),
            links=links,
            rdma=tuple(self.rdma),
            collectives=tuple(self.collectives),
            unreached=dict(self.unreached),
            skipped=dict(self.skipped),
        )


def connected(node: Node, other: Node, kind: str, port: int, clock: tuple[float, float] | None) -> Dial:
    return Dial(
        node.name,
        other.name,
        kind,
        other.address,
        port,
        OK,
        seconds=LATENCY,
        own=node.address,
        saw=node.address,
        resolved=other.address,
        answered_by=other.name,
        clock=clock,
    )


def collective(name: str, nodes: Sequence[str], backend: str = "gloo", seconds: float = 0.01) -> Collective:
    """One that passed, with one rank per node."""
    ranks = tuple(
        RankSaid(
            rank=i,
            node=node,
            reached="done",
            code=0,
            python="3.11.7",
            torch="2.13.0",
            wrong=0,
            numbers=1 << 21,
            seconds=seconds,
            bytes=8 << 20,
        )
        for i, node in enumerate(nodes)
    )
    return Collective(name, backend, ranks, seconds=3.0)


SIDES = ("inbound", "outbound", "both")


def seeded(seed: int, count: int = 16) -> tuple[dict[str, str], set[Pair], set[Pair], list[Pair]]:
    """A cluster with 1 to 3 bad nodes, each in one direction or both, and up to 4 broken links between good ones:
    the bad nodes with their side, those links, all pairs that fail, and all pairs there are."""
    chance = random.Random(seed)
    names = [f"n{i}" for i in range(count)]
    pairs = list(permutations(names, 2))
    bad = {node: chance.choice(SIDES) for node in chance.sample(names, chance.randint(1, 3))}
    good = [(a, b) for a, b in pairs if a not in bad and b not in bad]
    links = set(chance.sample(good, chance.randint(0, 4)))
    into = {node for node, side in bad.items() if side != "outbound"}
    out = {node for node, side in bad.items() if side != "inbound"}
    return bad, links, {(a, b) for a, b in pairs if a in out or b in into} | links, pairs


@dataclass(frozen=True)
class Case:
    """`change` breaks a healthy cluster of `nodes`. With `fires` exactly this rule speaks (beside `also`)."""

    change: Callable[[Simulated], object]
    fires: bool = True
    nodes: int = 4
    node: str | None = None
    verdict: str | None = None
    saw: str = ""
    fix: str = ""
    also: tuple[str, ...] = field(default=())
    interface: str = "auto"


def fires(change: Callable[[Simulated], object], **expected) -> Case:
    return Case(change, True, **expected)


def silent(change: Callable[[Simulated], object] = lambda sim: None, **more) -> Case:
    return Case(change, False, **more)
