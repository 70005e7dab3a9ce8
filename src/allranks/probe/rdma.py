"""RDMA between pairs of nodes with `ib_write_bw`, if every node has a device and the program."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from allranks.core.untrusted import number, text
from allranks.probe.results import Ear, Link, Pair
from allranks.transport import NodeProgram, Nodes, ProgramFailed, Unreachable

SECONDS = 1
ASK_SECONDS = 45.0
"""Longer than the node's own verb takes (`node/probing/rdma.py`)."""


async def measure_rounds(
    nodes: Nodes, ears: Mapping[str, Ear], rounds: Iterable[Iterable[Pair]]
) -> tuple[list[Link], str]:
    """Measures round by round, all pairs of a round at the same time, each in one direction: InfiniBand is the same in
    both. Returns the links, and why there are none if the first round measured nothing."""
    found: list[Link] = []
    for pairs in rounds:
        those = [(a, b) for a, b in pairs if a in ears and b in ears and ears[b].address]
        fresh = await asyncio.gather(*(pair(nodes[a], nodes[b], str(ears[b].address)) for a, b in those))
        if not found and fresh and not any(link.bytes_per_second for link in fresh):
            return [], fresh[0].reason or "nothing was measured"
        found += fresh
    return found, ""


async def pair(source: NodeProgram, target: NodeProgram, address: str) -> Link:
    waits, dials = await asyncio.gather(side(target), side(source, address))
    rate = number(dials.get("bytes_per_second"))
    reason = "" if rate else text(dials.get("reason")) or text(waits.get("reason")) or "no figure came"
    return Link(source.node, target.node, rate, reason=reason)


async def side(program: NodeProgram, host: str | None = None) -> dict[str, Any]:
    wanted = {"seconds": SECONDS, **({"host": host} if host else {})}
    try:
        return await program.call("probe", "rdma", stdin=wanted, timeout_seconds=ASK_SECONDS)
    except (Unreachable, ProgramFailed) as error:
        return {"reason": str(error)}
