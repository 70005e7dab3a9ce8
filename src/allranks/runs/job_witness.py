"""Looks at a job that allranks did not start. It stores nothing on the nodes or here."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import allranks
from allranks.core import Node
from allranks.core.untrusted import mapping
from allranks.monitor import job_look
from allranks.monitor.job_judge import Verdict, judge
from allranks.monitor.job_look import Job, NodeLook, jobs
from allranks.transport import Nodes, memory_program
from allranks.transport.base import Unreachable
from allranks.transport.nodes import AT_ONCE
from allranks.transport.program import NodeProgram, ProgramFailed

MODULES = (
    "allranks.core.*",
    "allranks.node",
    "allranks.node.processes",
    "allranks.node.stall_evidence",
    "allranks.node.outside_stack",
    "allranks.node.pyspy",
    "allranks.node.kernel_ring",
    "allranks.node.memory",
    "allranks.node.witness.*",
)
"""The modules that the look imports on a node. A test compares them with the real imports."""

FUNCTION, ECHO = "allranks.node.witness.look.observe", "allranks.node.witness.echo.reach"
USUAL_SECONDS = 2.5
ECHO_SECONDS, ECHO_NODES = 4.0, 32
SILENT = frozenset({"timeout", "login-timeout", "no-route", "connection-lost"})
"""With these errors a machine counts as not answering. Other errors concern the way to it: a key, a name, a Python."""
CONNECT_SECONDS, EACH_SECONDS = 4.0, 0.05
"""Time in addition to the look itself: for the connection, the program and the slowest reader, and a little more for
each node. A machine that takes longer counts as not answering."""


@lru_cache(maxsize=1)
def reader() -> str:
    """The text of the program that runs under the ranks' own Python."""
    return (Path(allranks.__file__).parent / "node" / "witness" / "stack_reader.py").read_text("utf-8")


Told = tuple[list[NodeLook], list[tuple[Job, Verdict]]]


@dataclass(frozen=True)
class Wanted:
    """How long to look, at which job (by process or by SLURM's number; by default all jobs), and whether to read
    stacks."""

    seconds: float
    pid: int | None = None
    slurm_job: str = ""
    stacks: bool = True


async def witness(nodes: Nodes, wanted: Wanted) -> Told:
    """Looks at the nodes, and returns a verdict for each job. Closes the nodes."""
    try:
        looks = await observe(nodes, wanted)
        found = []
        for job in jobs(looks):
            verdict = judge(job, looks)
            if verdict.asks:
                verdict = judge(job, looks, await echoes(nodes, verdict.asks))
            found.append((job, verdict))
        return looks, found
    finally:
        with contextlib.suppress(asyncio.TimeoutError, OSError):
            await asyncio.wait_for(nodes.close(), 0.5)  # a connection that hangs ends with this program


async def echoes(nodes: Nodes, addresses: Mapping[str, str]) -> dict[str, dict[str, bool]]:
    """By node: which of the other addresses answered it. A node that fails is left out."""

    async def one(name: str, own: str) -> dict[str, bool]:
        request = {"from": own, "to": [to for to in addresses.values() if to != own]}
        program = nodes[name]
        asked = memory_program.call(program.transport, program.python, ECHO, MODULES, request, ECHO_SECONDS)
        answer = mapping((await asyncio.wait_for(asked, ECHO_SECONDS)).get("answered"))
        return {address: value for address, value in answer.items() if isinstance(value, bool)}

    chosen = dict(list(addresses.items())[:ECHO_NODES])
    answers = await asyncio.gather(*(one(*item) for item in chosen.items()), return_exceptions=True)
    return {name: said for name, said in zip(chosen, answers, strict=True) if isinstance(said, dict)}


async def observe(nodes: Nodes, wanted: Wanted) -> list[NodeLook]:
    """Looks at all nodes at the same time. A node that fails has its `error`."""
    request = {"reader": reader(), **asdict(wanted)}
    limit = wanted.seconds + CONNECT_SECONDS + EACH_SECONDS * min(len(nodes.nodes), AT_ONCE)
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(node: Node) -> NodeLook:
        async with gate:
            return await _one(node, nodes[node.name], request, limit)

    return list(await asyncio.gather(*map(one, nodes.nodes.values())))


async def _one(node: Node, program: NodeProgram, request: dict[str, Any], limit: float) -> NodeLook:
    """Looks at one node. If the look does not end in time, a command that does nothing shows whether the machine
    answers."""
    call = memory_program.call(program.transport, program.python, FUNCTION, MODULES, request, limit + 1.0)
    asked, lives = asyncio.ensure_future(call), None
    try:
        usual = float(request["seconds"]) + USUAL_SECONDS
        if not (await asyncio.wait({asked}, timeout=usual))[0]:
            lives = asyncio.ensure_future(program.transport.run(["true"], timeout_seconds=limit))
            await asyncio.wait({asked}, timeout=limit - usual)
        if asked.done():
            return job_look.read(node.name, asked.result())
        answers = lives is not None and lives.done() and lives.exception() is None
        told = "it answers, but the look did not end" if answers else "it did not answer"
        return NodeLook(node.name, error=f"{told} within {limit:.0f} s", unreachable=not answers)
    except Unreachable as error:
        text = f"{error.text}. {error.fix}" if error.fix else error.text
        return NodeLook(node.name, error=text, unreachable=error.cause in SILENT)
    except ProgramFailed as error:
        return NodeLook(node.name, error=error.text)
    finally:
        ended: list[asyncio.Future[Any]] = [asked] if lives is None else [asked, lives]
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)
