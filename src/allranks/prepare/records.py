"""The containers of a run that was started: reads their records in the run directories, finds those that still run, and
ends them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from allranks.core import WARN, Finding, Node, Where
from allranks.prepare import containers
from allranks.prepare.container_commands import Contained, entered
from allranks.prepare.container_processes import described
from allranks.prepare.failures import NotReady
from allranks.prepare.readiness import each
from allranks.transport import NodeProgram, Nodes, ProgramFailed, Unreachable


def record_path(node: str) -> str:
    """The path of a node's record in the run directory."""
    return f"nodes/{node}/container.json"


@dataclass
class Remains:
    """A run's containers by node: `there` are those that the engine still has, `running` those of them that run.

    `gone` names the nodes whose container has ended or no longer exists. No process of it is left: when the first
    process of a container ends, the kernel ends all others in it.
    """

    known: dict[str, Contained] = field(default_factory=dict)
    there: dict[str, Contained] = field(default_factory=dict)
    running: dict[str, Contained] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """Nodes whose engine could not be asked or did not do what it should, each with the reason."""

    def inside(self, nodes: Nodes) -> Nodes:
        """The nodes; those whose container runs are reached inside it, since only there the run's processes are
        visible."""
        return entered(nodes, self.running)

    def words(self) -> list[str]:
        """The options for the node program's `sweep` and `clean`."""
        return [word for name in self.gone for word in ("--gone", name)]


async def remains_of(nodes: Nodes, run_id: str) -> Remains:
    """Reads the records. The result is empty if the run has no containers. A node that fails is left out: the caller's
    own call to it fails in the same way."""
    remains = Remains()

    async def one(node: Node, program: NodeProgram) -> None:
        contained = await record_of(program, run_id, node.name)
        if contained is None:
            return
        remains.known[node.name] = contained
        try:
            is_there, is_running = await state_of(program, contained)
        except (NotReady, Unreachable, ProgramFailed) as error:
            remains.failed[node.name] = f"its {contained.engine} container could not be looked at: {error}"
            return
        if is_there:
            remains.there[node.name] = contained
        if is_running:
            remains.running[node.name] = contained
        elif contained.engine != "apptainer":
            remains.gone.append(node.name)

    await each(nodes, one)
    return remains


async def record_of(program: NodeProgram, run_id: str, node: str) -> Contained | None:
    try:
        answer = await program.call("read", "chunk", run_id, record_path(node))
        data: Any = json.loads(str(answer.get("text", "")))
    except (ProgramFailed, ValueError):
        return None
    contained = Contained.from_json(data) if isinstance(data, dict) else None
    # The run's own script can write the record, so a record that names another run's container is ignored.
    mine = contained is not None and (contained.run, contained.node) == (run_id, node)
    return contained if mine else None


async def state_of(program: NodeProgram, contained: Contained) -> tuple[bool, bool]:
    """(whether the container exists, whether it runs)."""
    if contained.engine == "apptainer":
        found = await containers.instance(program, contained.name)
        return found is not None, found is not None
    found = await containers.still_ours(program, contained)
    return found is not None, found is not None and containers.is_running(found)


async def stop_containers(nodes: Nodes, remains: Remains) -> list[Finding]:
    """Ends the running containers; the engine keeps them for the next run with the same description. Returns one
    finding for each container that still runs, with the processes in it."""
    kept: list[Finding] = []

    async def one(node: Node, program: NodeProgram) -> None:
        contained = remains.running.get(node.name)
        if contained is None:
            return
        try:
            living = await containers.stop(program, contained)
        except NotReady as error:
            kept.extend(replace(found, verdict=WARN) for found in error.findings)
            return
        if living:
            kept.append(goes_on(contained, living))

    await each(nodes, one)
    return sorted(kept, key=lambda found: (found.id, str(found.where.node)))


def goes_on(contained: Contained, living: list[tuple[int, str]]) -> Finding:
    inside = "; ".join(f"pid {pid} {name}" for pid, name in living[:5])
    return Finding(
        id="container-goes-on",
        verdict=WARN,
        where=Where(node=contained.node),
        saw=f"the container {contained.name} on {contained.node} goes on: {described(living)} in it",
        expected="an empty container, which is ended with its run",
        why="they are not this run's, so nothing of theirs is ended; its memory and its /dev/shm stay in use.",
        fix=f"ask whose they are ({contained.engine} top {contained.name}); when they have ended, it ends by itself "
        "within two minutes",
        evidence=(inside,),
    )


async def remove_containers(nodes: Nodes, remains: Remains) -> dict[str, str]:
    """Removes those of the run that no other run works in: node → what was removed. `remains.failed` gets those that
    stay."""
    told: dict[str, str] = {}

    async def one(node: Node, program: NodeProgram) -> None:
        contained = remains.known.get(node.name)
        if contained is None:
            return
        try:
            if await containers.remove(program, contained):
                told[node.name] = f"{contained.engine} container {contained.name}"
        except (NotReady, Unreachable) as error:
            remains.failed[node.name] = f"{contained.engine} container {contained.name} stays: {error}"

    await each(nodes, one)
    return told
