"""Asks nodes what they see of a job that is not ours. Nothing is stored there or here."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from pathlib import Path
from typing import Any

import allranks
from allranks.core import Node
from allranks.monitor import job_look
from allranks.monitor.job_look import NodeLook
from allranks.transport import Nodes, memory_program
from allranks.transport.base import Unreachable
from allranks.transport.program import NodeProgram, ProgramFailed

MODULES = (
    "allranks.core.*",
    "allranks.node",
    "allranks.node.processes",
    "allranks.node.stall_evidence",
    "allranks.node.kernel_ring",
    "allranks.node.memory",
    "allranks.node.witness.*",
)
"""What the look imports on a node; a test compares them with what it really imports."""

FUNCTION = "allranks.node.witness.look.look"
CONNECT_SECONDS, EACH_SECONDS = 5.0, 0.05
"""Beyond the look itself: the connection, the program, the slowest reader; and so much more for each node. A machine
that needs longer is told as one that does not answer."""


@lru_cache(maxsize=1)
def reader() -> str:
    """The text that runs under the ranks' own Python."""
    return (Path(allranks.__file__).parent / "node" / "witness" / "stack_reader.py").read_text("utf-8")


async def look(nodes: Nodes, seconds: float, pid: int | None = None, slurm_job: str = "") -> list[NodeLook]:
    """Looks at all nodes at the same time; a node that fails has its `error`."""
    request = {"reader": reader(), "seconds": seconds, "pid": pid, "slurm_job": slurm_job}
    limit = seconds + CONNECT_SECONDS + EACH_SECONDS * len(nodes.nodes)
    tasks = [
        asyncio.ensure_future(_one(node, nodes[name], request, limit)) for name, node in nodes.nodes.items()
    ]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        try:
            await asyncio.wait_for(nodes.close(), 1.0)
        except (asyncio.TimeoutError, OSError):
            pass  # a connection that hangs: this program ends with it


async def _one(node: Node, program: NodeProgram, request: dict[str, Any], limit: float) -> NodeLook:
    asked = memory_program.call(program.transport, program.python, FUNCTION, MODULES, request, limit)
    try:
        return job_look.read(node.name, await asyncio.wait_for(asked, limit))
    except asyncio.TimeoutError:
        return NodeLook(node.name, error=f"it did not answer within {limit:.0f} s", unreachable=True)
    except Unreachable as error:
        return NodeLook(node.name, error=error.text, unreachable=True)
    except ProgramFailed as error:
        return NodeLook(node.name, error=error.text)
