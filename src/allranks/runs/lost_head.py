"""Finds out about a run whose head does not answer, from the journals of its other nodes.

The keeper is on the head. If the head has lost its power or network, the other nodes stop their ranks when their
lease ends, and write that to their journals. After that no part of the run can be heard any longer.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from allranks.core import Diagnosis, Where
from allranks.core.causes import NODE_FAILURE
from allranks.transport import NodeProgram, Nodes, ProgramFailed, Unreachable

TAIL_BYTES = 16384
"""The end of a supervisor's journal. The supervisor writes little after the end of its lease."""


async def lost(nodes: Nodes, run_id: str, error: str) -> dict[str, Any]:
    """`{state: lost, why, diagnosis}` if every other node answers, none has a living supervisor, and each stopped
    because it heard nothing from the keeper; else an empty dict. `error` is the head's.

    A waiting spare has a lease, too. If one node's lease ended and another's did not, the keeper lived: a spare took
    the node's place, and the run may have succeeded.
    """
    head, *others = nodes.programs
    told = await asyncio.gather(*(_told(nodes[name], name, run_id) for name in others))
    ends = [one for one in told if one]
    if not others or len(ends) < len(others) or not all(one["lease_lost_at"] for one in ends):
        return {}
    at = min(one["lease_lost_at"] for one in ends)
    names = ", ".join(one["node"] for one in ends)
    why = f"{head} does not answer, and {names} stopped the run's ranks after hearing nothing from it"
    diagnosis = Diagnosis(
        cause=NODE_FAILURE,
        confidence="likely",
        where=Where(node=head),
        first_seen=at,
        evidence=(error, f"{names}: the lease ended"),
        why="the run's keeper lives on its head. The other nodes stop their own ranks when their lease ends: "
        "any later messages of these nodes and of torchrun are consequences.",
        fix=f"look at {head}: power, kernel log, network; then allranks clean {run_id} and start again from its last"
        " checkpoint.",
    )
    return {"state": "lost", "why": why, "diagnosis": diagnosis.as_json()}


async def _told(program: NodeProgram, name: str, run_id: str) -> dict[str, Any] | None:
    """The node and when its lease ended, if it did. None if it does not answer or if its supervisor may live."""
    try:
        status = await program.call("read", "status", run_id)
        if (status.get("supervisors") or {}).get(name, {}).get("alive") is not False:
            return None
        path = f"nodes/{name}/journal.jsonl"
        text = str((await program.call("read", "chunk", run_id, path, str(-TAIL_BYTES))).get("text"))
    except (Unreachable, ProgramFailed, AttributeError, TypeError):
        return None  # also for an answer that no version of allranks gives
    return {"node": name, "lease_lost_at": _lease_lost_at(text)}


def _lease_lost_at(text: str) -> float | None:
    for line in text.splitlines():
        try:
            event = json.loads(line)
            if event["kind"] == "lease-lost" and event.get("rank") is None:
                return float(event["at"])
        except (ValueError, KeyError, TypeError):
            continue  # a cut line at the beginning, or a line of another program
    return None
