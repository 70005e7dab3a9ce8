"""RDMA between pairs of nodes with `ib_write_bw`, if every node has a device and the program."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from allranks.core.untrusted import number, text
from allranks.node.probing.rdma import NO_PORT, NO_PROGRAM
from allranks.probe.results import Ear, Link, Pair
from allranks.transport import NodeProgram, Nodes, ProgramFailed, Unreachable

ABSENT = (NO_PORT, NO_PROGRAM)
"""Reasons why nothing can be measured on a node. They say nothing of the link."""

SECONDS = 1
ASK_SECONDS = 45.0
"""Longer than the node's own verb takes (`node/probing/rdma.py`)."""


async def measure_rounds(
    nodes: Nodes, ears: Mapping[str, Ear], rounds: Iterable[Iterable[Pair]]
) -> tuple[list[Link], str]:
    """Measures round by round, all pairs of a round at the same time, each in one direction: InfiniBand is the same in
    both. Returns the links, and why there are none if nothing can be measured on the nodes. Only the links of the first
    round if it measured nothing."""
    found: list[Link] = []
    for pairs in rounds:
        those = [(a, b) for a, b in pairs if a in ears and b in ears and ears[b].address]
        fresh = await asyncio.gather(*(pair(nodes[a], nodes[b], str(ears[b].address)) for a, b in those))
        if not found and fresh and not any(link.bytes_per_second for link in fresh):
            absent = all(link.reason in ABSENT for link in fresh)
            return ([], fresh[0].reason) if absent else (list(fresh), "")
        found += fresh
    return found, ""


async def pair(source: NodeProgram, target: NodeProgram, address: str) -> Link:
    waits, dials = await asyncio.gather(side(target), side(source, address))
    rate = number(dials.get("bytes_per_second"))
    return Link(source.node, target.node, rate, reason="" if rate else reason(source.node, dials, waits))


def reason(source: str, dials: Mapping[str, Any], waits: Mapping[str, Any]) -> str:
    """Why a pair has no figure, from the answers of both sides."""
    said = text(dials.get("reason")), text(waits.get("reason"))
    if NO_PROGRAM in said:
        return NO_PROGRAM  # the other side just waits for an answer
    if said[0] == NO_PORT and said[1] != NO_PORT:
        return f"{NO_PORT} on {source}"  # the other node has one, so that this is a fault
    return said[0] or said[1] or "no figure came"


async def side(program: NodeProgram, host: str | None = None) -> dict[str, Any]:
    wanted = {"seconds": SECONDS, **({"host": host} if host else {})}
    try:
        return await program.call("probe", "rdma", stdin=wanted, timeout_seconds=ASK_SECONDS)
    except (Unreachable, ProgramFailed) as error:
        return {"reason": str(error)}
