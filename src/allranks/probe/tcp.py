"""The part of a probe that does not need torch: listeners on all nodes, connections between all, measured pairs."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from allranks.core import Node
from allranks.node.probing import dialer
from allranks.probe.blame import slow
from allranks.probe.results import DATA, OK, RENDEZVOUS, Dial, Ear, Link, Pair, dials_of, ear_of, links_of
from allranks.transport import NodeProgram, Nodes, ProgramFailed, Unreachable
from allranks.transport.program import json_object

DIAL_SECONDS = 4.0
"""Time limit of a connection. A lost SYN is sent again after 1 s and 3 s (Linux, TCP_TIMEOUT_INIT), so this is enough
for both."""

MANY_NODES = 32
"""From this number of nodes on a listener may not answer all connections in time. Of 10,000 between 100 nodes on 2
cores, 2 failed; with 16 and 48 nodes none did."""

WAITED = ("dropped", "silent", "unanswered")
"""Outcomes that only mean that no answer came in time."""

OPEN_SECONDS = 60.0
"""For a listener to begin. 30 s were once too short on a machine with two cores and a load of 12."""

END_SECONDS = 10.0
MOST_AGAIN = 8
"""So many links at most, of those that looked slow, are measured again, one by one, while the network is idle."""


@dataclass(frozen=True)
class Asked:
    """The settings of one probe. `interfaces` maps a node to the interface that its ranks are set to use."""

    key: str
    head: str
    port: int | None
    """The rendezvous port; None means any free port of the head."""

    interfaces: Mapping[str, str] = field(default_factory=dict)
    streams: int = 4
    seconds: float = 0.3
    """Duration of a measurement in one direction."""

    listen_seconds: float = 300.0


class Listeners:
    """`async with Listeners(nodes, asked) as listeners`: one on every node that answers, until the block ends."""

    def __init__(self, nodes: Nodes, asked: Asked):
        self.nodes, self.asked = nodes, asked
        self.unreached: dict[str, str] = {}
        self.ears: dict[str, Ear] = {}
        self._open: dict[str, Lines] = {}

    async def __aenter__(self) -> Listeners:
        try:
            outcomes = await self.nodes.each(self._listen)
        except BaseException:
            await self.__aexit__()
            raise
        for outcome in outcomes:
            if outcome.error is not None:
                self.unreached[outcome.node.name] = str(outcome.error)
            else:
                self.ears[outcome.node.name] = ear_of(outcome.node.name, outcome.answer)
        return self

    async def __aexit__(self, *_: object) -> None:
        await end(self.nodes, self.asked.key, self._open)

    async def _listen(self, node: Node, program: NodeProgram) -> dict[str, Any]:
        wanted = {
            "node": node.name,
            "key": self.asked.key,
            "head": self.asked.head,
            "peers": {other.name: other.address for other in self.nodes.nodes.values()},
            "interface": self.asked.interfaces.get(node.name),
            "ports": [self.asked.port] if node.name == self.asked.head and self.asked.port else [],
            "any_port": node.name == self.asked.head and not self.asked.port,
            "seconds": self.asked.listen_seconds,
        }
        stream = lines(program, "listen", wanted)
        self._open[node.name] = stream
        try:
            return await asyncio.wait_for(stream.__anext__(), OPEN_SECONDS)
        except (asyncio.TimeoutError, StopAsyncIteration):
            raise Unreachable(node.name, "no-listener", "its listener did not begin") from None


Lines = AsyncGenerator[dict[str, Any], None]


async def end(nodes: Nodes, key: str, streams: Mapping[str, Lines]) -> None:
    """Tells the listeners to end and closes those that do not: then the rendezvous port is free."""

    async def one(node: Node, program: NodeProgram) -> None:
        stream = streams.get(node.name)
        if stream is None:
            return
        try:
            await tell_to_end(program, key)
            await asyncio.wait_for(_drained(stream), END_SECONDS)
        except (RuntimeError, Unreachable, ProgramFailed, asyncio.TimeoutError):
            pass  # its closed output, or its time limit, ends it
        finally:
            with contextlib.suppress(Unreachable, ProgramFailed, OSError, RuntimeError):
                await stream.aclose()

    await nodes.each(one)


async def tell_to_end(program: NodeProgram, key: str) -> None:
    wanted = {"key": key, "node": program.node}
    with contextlib.suppress(Unreachable, ProgramFailed):
        await program.call("probe", "end", stdin=wanted, timeout_seconds=END_SECONDS)


async def _drained(stream: Lines) -> None:
    async for _ in stream:
        pass


async def lines(program: NodeProgram, what: str, wanted: Mapping[str, Any]) -> Lines:
    """The JSON lines of a `probe` verb, as they come, without the round trip of `NodeProgram.lines`. Raises
    ProgramFailed for an error that it prints."""
    body = json.dumps(wanted).encode()
    for first in (True, False):
        missing = False
        async for line in program.transport.stream(program.argv("probe", what), stdin=body):
            answer = read_line(program, what, line)
            missing = first and "bundle" in answer
            if missing:
                break
            if "error" in answer:
                raise ProgramFailed(program.node, f"probe {what}", str(answer["error"]))
            yield answer
        if not missing:
            return
        await program.call("version")  # which brings the bundle


def read_line(program: NodeProgram, what: str, line: bytes) -> dict[str, Any]:
    answer = json_object(line)
    if answer is None:
        raise ProgramFailed(program.node, f"probe {what}", f"printed no JSON object: {line[:200]!r}")
    return answer


# ---- connections ----


def targets_of(node: str, ears: Mapping[str, Ear], asked: Asked, addresses: Mapping[str, str]) -> list[dict]:
    """The addresses that a node connects to: the head's rendezvous port at the address that the ranks get, and the data
    address of every other node."""
    found: list[dict[str, Any]] = []
    port = ears[asked.head].rendezvous_port if asked.head in ears else None
    if port is not None:
        target = {"node": asked.head, "address": addresses[asked.head], "port": port}
        found.append({**target, "kind": RENDEZVOUS, "clock": node != asked.head})
    for ear in ears.values():
        if ear.node != node and ear.address and ear.port:
            found.append({"node": ear.node, "address": ear.address, "port": ear.port, "kind": DATA})
    return found


async def dial_all(nodes: Nodes, ears: Mapping[str, Ear], asked: Asked) -> tuple[list[Dial], dict[str, str]]:
    """All nodes connect to all others at the same time. Returns the attempts, and the nodes that could not be asked.

    With many nodes, connections that got no answer are tried once more.
    """
    addresses = {node.name: node.address for node in nodes.nodes.values()}
    targets = {name: targets_of(name, ears, asked, addresses) for name in nodes.nodes if name in ears}
    dials, unreached = await dial(nodes, asked, targets)
    if len(ears) < MANY_NODES:
        return dials, unreached
    late = {(d.source, d.target, d.kind) for d in dials if d.outcome in WAITED}
    again = {
        name: [one for one in wanted if (name, one["node"], one["kind"]) in late]
        for name, wanted in targets.items()
    }
    found, _ = await dial(nodes, asked, {name: wanted for name, wanted in again.items() if wanted})
    second = {(d.source, d.target, d.kind): d for d in found}
    return [second.get((d.source, d.target, d.kind), d) for d in dials], unreached


async def dial(
    nodes: Nodes, asked: Asked, targets: Mapping[str, list[dict]]
) -> tuple[list[Dial], dict[str, str]]:
    """Each node of `targets` dials its targets, all at once."""

    async def one(node: Node, program: NodeProgram) -> dict[str, Any]:
        if node.name not in targets:
            return {}
        wanted = {"node": node.name, "key": asked.key, "seconds": DIAL_SECONDS}
        wanted["targets"] = targets[node.name]
        limit = dial_limit(len(targets[node.name]))
        return await program.call("probe", "dial", stdin=wanted, timeout_seconds=limit)

    dials: list[Dial] = []
    unreached: dict[str, str] = {}
    for outcome in await nodes.each(one):
        if outcome.error is not None:
            unreached[outcome.node.name] = str(outcome.error)
        else:
            dials += dials_of(outcome.node.name, outcome.answer)
    return dials, unreached


def dial_limit(targets: int) -> float:
    """Longer than a node takes to dial so many targets: it dials some of them at the same time."""
    return 52.0 + 2 * DIAL_SECONDS * (1 + targets // dialer.AT_ONCE)


# ---- bandwidth ----


async def measure_rounds(
    nodes: Nodes,
    ears: Mapping[str, Ear],
    asked: Asked,
    rounds: Iterable[Iterable[Pair]],
    dials: Iterable[Dial],
) -> tuple[list[Link], dict[str, str]]:
    """Measures round by round, all pairs of a round at the same time; returns the links, and the nodes that could not
    be asked. Pairs that could not connect are left out. After a node could not be asked, its other pairs are left out
    too: each could take the whole limit, and the listeners would end."""
    good = {(d.source, d.target) for d in dials if d.kind == DATA and d.outcome == OK}
    found: list[Link] = []
    unreached: dict[str, str] = {}
    for pairs in rounds:
        wanted = [pair for pair in pairs if pair in good]
        # In the other direction if only that one connects.
        wanted += [(b, a) for a, b in pairs if (a, b) not in good and (b, a) in good]
        live = [(a, b) for a, b in wanted if a not in unreached and b not in unreached]
        await asyncio.gather(*(measure(nodes[a], ears[b], asked, found, unreached) for a, b in live))
    return found, unreached


async def measure_again(
    nodes: Nodes, ears: Mapping[str, Ear], asked: Asked, links: Iterable[Link]
) -> list[Link]:
    """Measures the slowest of the links that look slow or dead one by one: 16 pairs at once may slow each other
    down."""
    rates = {(k.source, k.target): k.bytes_per_second or 0.0 for k in links}
    found: list[Link] = []
    unreached: dict[str, str] = {}
    for a, b in sorted(late_pairs(rates), key=lambda pair: rates[pair])[:MOST_AGAIN]:
        if (a, b) not in {(k.source, k.target) for k in found} and not unreached.keys() & {a, b}:
            await measure(nodes[a], ears[b], asked, found, unreached)
    return found


def late_pairs(rates: Mapping[Pair, float]) -> list[Pair]:
    """The pairs that are slow, by themselves or because of a node, and those over which nothing came."""
    blamed, _ = slow(rates)
    sides = [p for p in rates if p[0] in blamed.outbound or p[1] in blamed.inbound]
    dead = [pair for pair, rate in rates.items() if not rate]
    return list(dict.fromkeys([*dead, *blamed.links, *sides]))


def measure_limit(seconds: float) -> float:
    """Longer than a node takes to measure a pair for so many seconds in each direction."""
    return 45.0 + 8 * seconds


async def measure(
    program: NodeProgram, ear: Ear, asked: Asked, found: list[Link], unreached: dict[str, str]
) -> None:
    """Adds both directions between a node and the node of `ear` to `found`."""
    wanted = {
        "node": program.node,
        "key": asked.key,
        "target": {"node": ear.node, "address": ear.address, "port": ear.port},
        "streams": asked.streams,
        "seconds": asked.seconds,
    }
    limit = measure_limit(asked.seconds)
    try:
        said = await program.call("probe", "measure", stdin=wanted, timeout_seconds=limit)
    except (Unreachable, ProgramFailed) as error:
        unreached[program.node] = str(error)  # about the node, not the link
        return
    found += links_of(program.node, ear.node, said)
