"""The nodes' reports of a probe, as frozen values. Their JSON is read without trust."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from allranks.core.untrusted import listing, mapping, number, text

OK = "ok"
RENDEZVOUS, DATA = "rendezvous", "data"

Pair = tuple[str, str]
"""(source, target) of a connection or a transfer."""


@dataclass(frozen=True)
class Ear:
    """One node's listener, and the node's report of itself.

    It listens at `address` and `port`, where the node's ranks would listen for data. If it cannot, both are None and
    `reason` says why. `ports` maps each of the run's ports on this node to the reason why it could not listen there,
    or None. `source` and `way` are the address and the interface of its route to the head.
    """

    node: str
    interface: str | None = None
    address: str | None = None
    port: int | None = None
    reason: str = ""
    ports: Mapping[int, str | None] = field(default_factory=dict)
    source: str | None = None
    way: str | None = None
    addresses: frozenset[str] = frozenset()
    hostname: str = ""
    resolved: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    nvidia: int = 0
    rdma: int = 0
    """GPUs and RDMA devices (InfiniBand, RoCE) that the node's drivers list."""

    @property
    def rendezvous_port(self) -> int | None:
        """The first of the run's ports that the node could listen on; None if there is none."""
        return next((port for port, reason in self.ports.items() if reason is None), None)


@dataclass(frozen=True)
class Dial:
    """One connection that was tried. `outcome` is `ok`, `dropped`, `refused`, `reset`, `no-route`, `forbidden`,
    `unknown-name`, `silent`, `stranger`, `wrong-node`, `unanswered` or `failed`. `seconds` is the time to connect."""

    source: str
    target: str
    kind: str
    address: str
    port: int
    outcome: str
    text: str = ""
    seconds: float | None = None
    own: str | None = None
    saw: str | None = None
    resolved: str | None = None
    answered_by: str | None = None
    clock: tuple[float, float] | None = None
    """Offset of the source's clock against the target's, and its largest error; seconds."""


@dataclass(frozen=True)
class Link:
    """The bandwidth in one direction of a pair, in bytes per second over all streams; None, with `reason`, if no data
    arrived.

    `latency` is the shortest round trip, in seconds."""

    source: str
    target: str
    bytes_per_second: float | None
    latency: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class RankSaid:
    """One rank of a collective: the last stage it reached, and its last output if it failed."""

    rank: int
    node: str
    reached: str = "started"
    code: int | None = None
    python: str | None = None
    torch: str | None = None
    nccl: str | None = None
    wrong: int | None = None
    numbers: int | None = None
    seconds: float | None = None
    bytes: int | None = None
    device: str | None = None
    """The GPU's name; None for a rank on the CPU."""

    flops: float | None = None
    copied: float | None = None
    """The speed of the rank's device alone: `flops` are floating-point operations per second, `copied` is bytes per
    second in copies."""

    tail: str = ""

    @property
    def passed(self) -> bool:
        return self.code == 0 and self.reached == "done" and self.wrong == 0


@dataclass(frozen=True)
class Collective:
    """One collective: the step's `name`, its ranks, its duration, and the environment that the step adds to the ranks'
    own. `stopped` is the reason if allranks ended it before its ranks had ended."""

    name: str
    backend: str
    ranks: tuple[RankSaid, ...]
    seconds: float
    stopped: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    unreached: Mapping[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return not self.unreached and bool(self.ranks) and all(rank.passed for rank in self.ranks)

    @property
    def bytes_per_second(self) -> float | None:
        """Bus bandwidth as in nccl-tests: 2(N-1)/N of the bytes, over the slowest rank's time."""
        times = [r.seconds for r in self.ranks if r.seconds]
        if not self.passed or len(times) != len(self.ranks):
            return None
        world = len(self.ranks)
        return 2 * (world - 1) / world * (self.ranks[0].bytes or 0) / max(times)


@dataclass(frozen=True)
class Results:
    """All results of a probe. `unreached` maps nodes that could not be asked to the reason, `skipped` parts of the
    probe that were not tried."""

    nodes: tuple[str, ...]
    ears: Mapping[str, Ear] = field(default_factory=dict)
    dials: tuple[Dial, ...] = ()
    links: tuple[Link, ...] = ()
    rdma: tuple[Link, ...] = ()
    collectives: tuple[Collective, ...] = ()
    unreached: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    all_pairs_measured: bool = True
    seconds: float = 0.0

    @property
    def head(self) -> str:
        return self.nodes[0]

    def of_kind(self, kind: str) -> list[Dial]:
        return [dial for dial in self.dials if dial.kind == kind]

    def with_links(self, links: Iterable[Link]) -> Results:
        """Of two measurements of a direction the faster counts, since a disturbance only makes it slower."""
        best = {(link.source, link.target): link for link in self.links}
        for link in links:
            there = best.get((link.source, link.target))
            if there is None or (link.bytes_per_second or 0.0) >= (there.bytes_per_second or 0.0):
                best[(link.source, link.target)] = link
        return replace(self, links=tuple(best.values()))

    def as_json(self) -> dict[str, Any]:
        return {
            "nodes": list(self.nodes),
            "interfaces": {
                e.node: {"interface": e.interface, "address": e.address} for e in self.ears.values()
            },
            "connections": [
                {
                    "from": d.source,
                    "to": d.target,
                    "kind": d.kind,
                    "address": d.address,
                    "port": d.port,
                    "outcome": d.outcome,
                    "text": d.text,
                    "seconds": d.seconds,
                }
                for d in self.dials
            ],
            "links": [link_json(link) for link in self.links],
            "rdma": [link_json(link) for link in self.rdma],
            "all_pairs_measured": self.all_pairs_measured,
            "collectives": [collective_json(c) for c in self.collectives],
            "unreached": dict(self.unreached),
            "skipped": dict(self.skipped),
            "seconds": self.seconds,
        }


def link_json(link: Link) -> dict[str, Any]:
    return {
        "from": link.source,
        "to": link.target,
        "bytes_per_second": link.bytes_per_second,
        "latency_seconds": link.latency,
        "reason": link.reason or None,
    }


def collective_json(collective: Collective) -> dict[str, Any]:
    return {
        "step": collective.name,
        "backend": collective.backend,
        "ranks": len(collective.ranks),
        "passed": collective.passed,
        "seconds": collective.seconds,
        "bytes_per_second": collective.bytes_per_second,
        "environment": dict(collective.environment),
        "stopped": collective.stopped or None,
        "devices": [
            {"rank": r.rank, "node": r.node, "device": r.device, "flops": r.flops, "copied": r.copied}
            for r in collective.ranks
            if r.flops is not None
        ],
    }


# ---- reading what a node sent ----

PORT = re.compile("[0-9]{1,5}")


def ear_of(node: str, said: Mapping[str, Any]) -> Ear:
    way = mapping(said.get("route"))
    ports = {int(p): text(r) for p, r in mapping(said.get("ports")).items() if PORT.fullmatch(str(p))}
    resolved = {
        str(name): tuple(str(a) for a in listing(mapping(one).get("addresses")))
        for name, one in mapping(said.get("resolved")).items()
    }
    port = number(said.get("port"))
    return Ear(
        node=node,
        interface=text(said.get("interface")),
        address=text(said.get("address")),
        port=None if port is None else int(port),
        reason=text(said.get("reason")) or "",
        ports=ports,
        source=text(way.get("source")),
        way=text(way.get("interface")),
        addresses=frozenset(str(a) for a in listing(said.get("addresses"))),
        hostname=text(said.get("hostname")) or "",
        resolved=resolved,
        nvidia=int(number(said.get("nvidia")) or 0),
        rdma=int(number(said.get("rdma")) or 0),
    )


def dials_of(source: str, said: Mapping[str, Any]) -> list[Dial]:
    found = []
    for one in listing(said.get("dials")):
        one = mapping(one)
        clock = mapping(one.get("clock"))
        offset, error = number(clock.get("offset")), number(clock.get("error"))
        found.append(
            Dial(
                source=source,
                target=str(one.get("node")),
                kind=str(one.get("kind")),
                address=str(one.get("address")),
                port=int(number(one.get("port")) or 0),
                outcome=str(one.get("outcome") or "failed"),
                text=str(one.get("text") or ""),
                seconds=number(one.get("seconds")),
                own=text(one.get("own")),
                saw=text(one.get("saw")),
                resolved=text(one.get("resolved")),
                answered_by=text(one.get("answered_by")),
                clock=None if offset is None or error is None else (offset, error),
            )
        )
    return found


def links_of(source: str, target: str, said: Mapping[str, Any]) -> list[Link]:
    """Both directions of one `measure`."""
    latency = mapping(said.get("latency"))
    found = []
    for key, pair in (("sent", (source, target)), ("received", (target, source))):
        one = mapping(said.get(key))
        rate = number(one.get("bytes_per_second"))
        reason = text(one.get("reason")) or ("" if rate is not None else "no figure came")
        found.append(Link(*pair, rate, number(latency.get("least")), reason))
    return found
