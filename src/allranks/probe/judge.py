"""Results in, findings out. Pure."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partialmethod

from allranks.checks.phrases import harmless
from allranks.core import BLOCK, NOTE, UNKNOWN, WARN, Finding, Where
from allranks.core import OK as FINE
from allranks.core.net import is_loopback
from allranks.probe import blame as blaming
from allranks.probe.blame import Blame
from allranks.probe.catalogue import all_rules
from allranks.probe.results import DATA, OK, RENDEZVOUS, Dial, Ear, Pair, Results
from allranks.spec import Run


def judge(results: Results, run: Run) -> list[Finding]:
    """All findings, in the order of their ids. Texts that nodes sent are made harmless to a terminal."""
    context = Context(results, run)
    return [
        harmless(found, rule_id) for rule_id, rule in all_rules().items() for found in rule.check(context)
    ]


@dataclass(frozen=True, eq=False)
class Context:
    """The input of a rule: the run, the results, and values that several rules derive from them."""

    results: Results
    run: Run

    @property
    def head(self) -> str:
        return self.results.head

    @cached_property
    def addresses(self) -> Mapping[str, str]:
        return {node.name: node.address for node in self.run.cluster.nodes}

    @cached_property
    def rendezvous(self) -> Mapping[str, Dial]:
        """The connection of each node except the head to the head's rendezvous port."""
        return {d.source: d for d in self.results.of_kind(RENDEZVOUS) if d.source != self.head}

    @cached_property
    def data(self) -> Mapping[Pair, Dial]:
        return {(d.source, d.target): d for d in self.results.of_kind(DATA)}

    @cached_property
    def off_route(self) -> tuple[Ear, ...]:
        """Nodes whose ranks use another interface than the one that leads to the head."""
        ears = self.results.ears.values()
        return tuple(e for e in ears if e.address and e.source and e.address != e.source)

    @cached_property
    def astray(self) -> frozenset[str]:
        """The nodes that no other node reaches at the address of their ranks, because nothing or another node answers
        there. Only nodes of `off_route` count, and nodes whose route to the head is their own loopback
        (`name-loops-back`)."""
        looping = [e for e in self.results.ears.values() if self.several_hosts and is_loopback(e.address)]
        found = set()
        by_target: dict[str, list[Dial]] = {}
        for pair, dial in self.data.items():
            by_target.setdefault(pair[1], []).append(dial)
        for ear in [*self.off_route, *looping]:
            dials = by_target.get(ear.node)
            if dials and all(dial.outcome != OK for dial in dials):
                found.add(ear.node)
        return frozenset(found)

    @cached_property
    def several_hosts(self) -> bool:
        """Whether the nodes are more than one machine's loopback."""
        return not all(is_loopback(ear.source) for ear in self.results.ears.values())

    @cached_property
    def blamed(self) -> Blame:
        """The nodes and links whose data connections fail, without nodes whose interface explains it."""
        tried = [pair for pair in self.data if pair[1] not in self.astray]
        return blaming.blame(tried, [pair for pair in tried if self.data[pair].outcome != OK])

    @cached_property
    def joins(self) -> frozenset[str]:
        """The nodes whose rendezvous works: those that reach the head's port, and the head if any does."""
        good = {node for node, dial in self.rendezvous.items() if dial.outcome == OK}
        return frozenset(good | {self.head} if good else good)

    @cached_property
    def rates(self) -> Mapping[Pair, float]:
        """Bytes per second of every measured direction; 0 if it connected and nothing came through."""
        return {
            (k.source, k.target): k.bytes_per_second or 0.0
            for k in self.results.links
            if not k.reason or k.bytes_per_second is not None
        }

    @cached_property
    def slow(self) -> tuple[Blame, float]:
        moving = {pair: rate for pair, rate in self.rates.items() if rate > 0}
        return blaming.slow(moving)

    def say(self, verdict: str, node: str | None = None, key: str | None = None, **said) -> Finding:
        where = self.run.where(key) if key else Where()
        return Finding(id="", verdict=verdict, where=dataclasses.replace(where, node=node), **said)

    block = partialmethod(say, BLOCK)
    warn = partialmethod(say, WARN)
    note = partialmethod(say, NOTE)
    unknown = partialmethod(say, UNKNOWN)
    fine = partialmethod(say, FINE)


def outcomes(dials: Sequence[Dial]) -> str:
    """`dropped 3, refused 1`: the outcomes of several connections, the most frequent first."""
    counts = Counter(sorted(dial.outcome for dial in dials))
    return ", ".join(f"{name} {n}" for name, n in counts.most_common())


def rate(bytes_per_second: float) -> str:
    """`9.41 Gb/s`: the speed of networks is given in bits."""
    bits = bytes_per_second * 8
    for unit, size in (("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if bits >= size:
            return f"{bits / size:.3g} {unit}"
    return f"{bits:.0f} b/s"
