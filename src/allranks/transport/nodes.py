"""All nodes of a run at once, with one connection per node for the whole verb. Nodes fail separately."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from allranks.core import Node
from allranks.node.open_files import make_room_for
from allranks.node.redaction import SHORTEST
from allranks.spec import Run
from allranks.spec.launchers import HERE, find
from allranks.spec.problems import SECRET_NAME, looks_like_token
from allranks.transport.base import Unreachable
from allranks.transport.local import LocalTransport
from allranks.transport.program import NodeProgram, ProgramFailed

AT_ONCE = 64
"""Calls under way at the same time: enough to hide the latency of 1,000 nodes, few enough for open files."""

FILES_EACH = 6
"""A connection or the pipes of an `ssh` for calls, the same for a stream that stays open (a probe's listener)."""


@dataclass(frozen=True)
class Outcome:
    """The answer of one node, or the error in its place."""

    node: Node
    answer: Any = None
    error: Unreachable | ProgramFailed | None = None


class Nodes:
    """The programs of all nodes, by name."""

    def __init__(self, programs: Mapping[str, NodeProgram], nodes: Mapping[str, Node]):
        self.programs, self.nodes = dict(programs), dict(nodes)
        make_room_for(len(self.nodes), FILES_EACH)

    def __getitem__(self, name: str) -> NodeProgram:
        return self.programs[name]

    async def each(self, work: Callable[[Node, NodeProgram], Awaitable[Any]]) -> list[Outcome]:
        """Does `work` on every node at the same time; the order of the answers is that of the nodes."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(node: Node) -> Outcome:
            async with gate:
                try:
                    return Outcome(node, await work(node, self.programs[node.name]))
                except (Unreachable, ProgramFailed) as error:
                    return Outcome(node, error=error)

        return list(await asyncio.gather(*(one(node) for node in self.nodes.values())))

    async def close(self) -> None:
        await asyncio.gather(*(program.transport.close() for program in self.programs.values()))


def is_hidden(secrets: frozenset[str], name: str, value: str) -> bool:
    """Whether an environment variable is a secret: the run file names it as one, or its name or form shows it. A
    value that is too short to mask in logs is not a secret by its name alone (`USE_KEY=1`)."""
    by_name = bool(SECRET_NAME.search(name)) and len(value) >= SHORTEST
    return name in secrets or by_name or looks_like_token(value, name)


def open_nodes(run: Run, accept_new_hosts: bool = False) -> Nodes:
    """The nodes of a run by the transport that it names. Connecting happens at the first call."""
    if run.launcher.queue is not None:
        raise run.refuse(
            "launch.with",
            f"launch.with: {run.launch.with_} has no nodes before its job runs",
            "this verb looks at nodes, and starts no job.",
            "allranks run FILE checks in the job, before training; in an allocation check looks too",
        )
    return reached(
        run.cluster.nodes, run.launch.with_, run.user, accept_new_hosts, run.transport, secrets=run.secrets
    )


def reached(
    described: Iterable[Node],
    launch: str,
    user: str | None = None,
    accept_new_hosts: bool = False,
    transport: str = "asyncssh",
    address: str | None = None,
    secrets: Iterable[str] = (),
) -> Nodes:
    """Programs for nodes, reached as their launcher says; over SSH by asyncssh or the system's."""
    nodes = {node.name: node for node in described}
    how = find(launch).reach
    if how == HERE:
        hides = partial(is_hidden, frozenset(secrets))
        return Nodes({n: NodeProgram(LocalTransport(n, hides), sys.executable) for n in nodes}, nodes)
    if callable(how):
        return Nodes({n: NodeProgram(how(node, address)) for n, node in nodes.items()}, nodes)
    if transport == "openssh":
        from allranks.transport.openssh import OpensshTransport, Sockets

        sockets = Sockets()
        programs = {
            name: NodeProgram(OpensshTransport(node, sockets, user, accept_new=accept_new_hosts))
            for name, node in nodes.items()
        }
        return Nodes(programs, nodes)
    from allranks.transport.ssh import HostKeys, SshTransport

    keys = HostKeys(accept_new=accept_new_hosts)
    return Nodes({n: NodeProgram(SshTransport(node, user, keys=keys)) for n, node in nodes.items()}, nodes)
