"""A port of this run that a dead run of ours still holds: freed before the launch. Anybody else's is only reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from allranks.core import NOTE, Finding, Where
from allranks.core.untrusted import mappings
from allranks.runs.inspection import Inspection, inspect
from allranks.spec import Run
from allranks.transport import Nodes, ProgramFailed, Unreachable


def holders(seen: Inspection) -> dict[str, str]:
    """Run ids of ours whose processes hold a port that this run wants at the head, and that nobody leads any more:
    run id → port. A run that still has a supervisor or keeper is at work, and is left."""
    head = seen.run.cluster.head.name
    facts = next((one for one in seen.facts if one.node == head), None)
    if facts is None:
        return {}
    led = {
        str(left.get("run"))
        for left in mappings(facts.get("leftovers.runs"))
        if left.get("supervisor") or left.get("keeper")
    }
    known = {str(left.get("run")) for left in mappings(facts.get("leftovers.runs"))}
    found: dict[str, str] = {}
    ports = facts.get("network.ports")
    for port, state in (ports if isinstance(ports, Mapping) else {}).items():
        for holder in mappings(state.get("held_by") if isinstance(state, Mapping) else None):
            run_id = holder.get("run")
            if run_id and str(run_id) in known - led:
                found[str(run_id)] = str(port)
    return found


async def freed(
    nodes: Nodes, run: Run, seen: Inspection, say: Callable[[str, Mapping[str, Any]], None]
) -> Inspection:
    """The inspection again, after what dead runs of ours left at the ports was ended; as it was where nothing was.

    Each node decides anew, by pid, start time and boot id, what is ours: as `allranks clean RUN` does.
    """
    found = holders(seen)
    if not found:
        return seen
    head = run.cluster.head.name
    told = []
    for run_id, port in found.items():
        try:
            answer = await nodes[head].call("sweep", run_id, timeout_seconds=60.0)
        except (ProgramFailed, Unreachable):
            continue  # the port stays held, and the finding that says so stands
        left = {one.get("pid") for one in answer.get("processes") or ()}
        ended = [one["pid"] for one in answer.get("stopped") or () if one["pid"] not in left]
        if not ended:
            continue  # it ended by itself, or would not end: looking again tells which
        pids = ", ".join(map(str, ended))
        told.append(
            Finding(
                id="port-freed",
                verdict=NOTE,
                where=Where(node=head),
                saw=f"port {port} of {head} was held by pid {pids} of run {run_id}, which no longer had a keeper; "
                "it was ended",
                why="the new rendezvous would have waited until it times out.",
                fix=f"nothing; allranks clean {run_id} removes what else it left",
            )
        )
    for finding in told:
        say("finding", finding.as_json())
    again = await inspect(nodes, run)
    return replace(again, findings=(*told, *again.findings))
