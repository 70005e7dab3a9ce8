"""Frees a port that this run needs, if a dead run of the same user still holds it. Any other holder is only
reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from allranks.core import NOTE, Finding, Where
from allranks.core.untrusted import mapping, mappings
from allranks.runs.inspection import Inspection, inspect
from allranks.spec import Run
from allranks.transport import Nodes, ProgramFailed, Unreachable


def holders(seen: Inspection) -> dict[str, str]:
    """Run id → port: runs whose processes hold a port of the head that this run needs, but which have no supervisor
    and no keeper. A run that still has a supervisor or a keeper is left alone."""
    head = seen.run.cluster.head.name
    facts = next((one for one in seen.facts if one.node == head), None)
    if facts is None:
        return {}
    left = mappings(facts.get("leftovers.runs"))
    dead = {one.get("run") for one in left} - {
        one.get("run") for one in left if one.get("supervisor") or one.get("keeper")
    }
    return {
        str(holder["run"]): str(port)
        for port, state in mapping(facts.get("network.ports")).items()
        for holder in mappings(mapping(state).get("held_by"))
        if holder.get("run") and holder["run"] in dead
    }


async def freed(nodes: Nodes, run: Run, seen: Inspection, say: Callable[[Finding], None]) -> Inspection:
    """The inspection again, after the processes of dead runs at the ports have been ended; unchanged if there were
    none.

    The node decides by pid, start time and boot id which processes belong to the run, like `allranks clean RUN`.
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
            continue  # the port is still held, and the inspection's finding reports it
        left = {one.get("pid") for one in answer.get("processes") or ()}
        ended = [one["pid"] for one in answer.get("stopped") or () if one["pid"] not in left]
        if not ended:
            continue  # it ended by itself, or did not end: the new inspection shows which
        pids = ", ".join(map(str, ended))
        told.append(
            Finding(
                id="port-freed",
                verdict=NOTE,
                where=Where(node=head),
                saw=f"port {port} of {head} was held by pid {pids} of run {run_id}, which no longer had a keeper; "
                "it was ended",
                why="the new rendezvous would have waited until it times out.",
                fix=f"nothing; allranks clean {run_id} removes what else that run left",
            )
        )
    for finding in told:
        say(finding)
    again = await inspect(nodes, run)
    return replace(again, findings=(*told, *again.findings))
