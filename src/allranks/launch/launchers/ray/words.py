"""Ray: a job whose actors, one a machine (STRICT_SPREAD), hold the nodes' resources and start our supervisors.

Ray orchestrates and torchrun trains. The job goes to a cluster that runs already (`launch.address`, its dashboard),
or to one that the run brings with it, started over SSH on the nodes themselves and ended with the run
(`node/ray_cluster.py`). It is submitted from the head node by Ray's REST API, and is Ray's own from then on:
`ray job list` shows it by the run's id, and `ray job stop` ends the run with a save. Tried with Ray 2.60.
"""

from __future__ import annotations

import json
import os
import posixpath
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allranks.core import Node
from allranks.launch.jobs import LEAVING
from allranks.launch.launchers.ray.driver import DRIVER
from allranks.launch.starting import Start, StartFailed
from allranks.transport import Nodes, Outcome

UP_SECONDS = 300.0
ROOM_SECONDS = 30
"""How long Ray may take to place the actors; with its driver's start less than `node/engine_orders.py` waits."""

JOIN_SECONDS = 10
AUTO = "http://127.0.0.1:8265"


def brings_cluster(start: Start) -> bool:
    return start.run.launch.address is None


def refuse_strange(start: Start) -> None:
    """Raises BadInput for runs that STRICT_SPREAD cannot place, and for what is no address."""
    addresses = [node.address for node in start.nodes]
    twice = [address for address in addresses if addresses.count(address) > 1]
    if twice:
        raise start.run.refuse(
            "nodes",
            f"{twice[0]} is the address of more than one node.",
            "Ray places one actor a machine (STRICT_SPREAD).",
            "one node a machine with more gpus, or launch: {with: ssh}",
        )
    if start.run.launch.extra:
        raise start.run.refuse(
            "launch.extra",
            f"launch.extra: {shlex.join(start.run.launch.extra)}",
            "the job is submitted by Ray's API, which takes no options of a command line.",
            "take it out; launch.address names a cluster with settings of its own",
        )


async def begin(start: Start, nodes: Nodes, run_id: str) -> tuple[list[str], bytes]:
    """Makes the cluster where the run brings one; the words that submit the job on the head, and their input.

    Raises StartFailed where a node's Ray does not start, Unreachable and ProgramFailed.
    """
    refuse_strange(start)
    head = start.nodes[0]
    folder = start.folder()
    wanted: dict[str, Any] = {"log": f"{folder}/engine/engine.log"}
    if brings_cluster(start):
        told = await bring_up(start, nodes, run_id)
        python = shlex.quote(told["python"])
        wanted["address"] = f"http://127.0.0.1:{told['dashboard']}"
        wanted["token_file"] = f"{folder}/nodes/{head.name}/ray-token"
    else:
        python = '"$(command -v python || command -v python3)"'
        wanted["address"] = dashboard_of(start)
        wanted["token"] = token()
        wanted["head"] = {"name": head.name, "address": head.address}
    files = {"engine/ray_driver.py": DRIVER, "engine/ray.json": task(start, run_id, folder)}
    await nodes[head.name].call("put", run_id, stdin={"files": files})
    paths = shlex.join([f"{folder}/engine/ray_driver.py", f"{folder}/engine/ray.json"])
    wanted["job"] = {
        "entrypoint": f"exec {python} {paths}",
        "submission_id": run_id,
        "metadata": {"allranks": start.run.name},
        "entrypoint_resources": {"node:__internal_head__": 0.001} if brings_cluster(start) else None,
    }
    words = nodes[head.name].argv("ray", "submit", run_id)
    return words, json.dumps(wanted).encode()


def task(start: Start, run_id: str, folder: str) -> dict[str, Any]:
    """What the driver does: which actors, with what, where its lines go."""
    return {
        "run": run_id,
        "nodes": [
            {
                "name": node.name,
                "address": node.address,
                "gpus": gpus_of(start, node),
                "script": start.scripts[node.name],
            }
            for node in start.nodes
        ],
        "log": posixpath.join(folder, "engine", "engine.log"),
        "events": posixpath.join(folder, "engine", "lost.jsonl"),
        "leaving": posixpath.join(folder, LEAVING),
        "join_seconds": JOIN_SECONDS,
        "room_seconds": ROOM_SECONDS,
    }


def gpus_of(start: Start, node: Node) -> int:
    """What Ray counts as GPUs of a node; none for ranks that train on CPUs."""
    uses = any(row["gpu"] is not None for row in start.plan.ranks)
    return node.gpus if uses else 0


def dashboard_of(start: Start) -> str:
    """launch.address as the head node reaches it: where Ray's job API listens."""
    address = str(start.run.launch.address)
    if address == "auto":
        return AUTO
    if address.startswith("-") or "://" in address:
        raise start.run.refuse(
            "launch.address", f"launch.address: {address!r}.", "it is host:port or auto.", "10.0.0.1:8265"
        )
    return f"http://{address}"


def token(env: Mapping[str, str] = os.environ) -> str | None:
    """The cluster's token as Ray's own tools find it on this machine; it goes on by standard input alone."""
    if env.get("RAY_AUTH_TOKEN"):
        return env["RAY_AUTH_TOKEN"]
    path = Path(env.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


# ---- a cluster of the run's own ----


async def bring_up(start: Start, nodes: Nodes, run_id: str) -> Mapping[str, Any]:
    """Ray on the head, then on all others at once; what the head's said."""
    key = secrets.token_hex(32)
    head, others = start.nodes[0], start.nodes[1:]
    python = start.run.environment.python
    if start.run.container is not None and start.run.container.engine != "none":
        python = None  # Ray is the host's, as in the seeds' way: it starts what is in the container

    def wanted(node: Node, address: str | None) -> dict[str, Any]:
        peer = others[0].address if others else None
        own = {"python": python, "head": address, "peer": peer, "token": key}
        return {**own, "gpus": gpus_of(start, node)}

    async def one(node: Node, address: str | None) -> Mapping[str, Any]:
        return await nodes[node.name].call(
            "ray", "up", run_id, node.name, stdin=wanted(node, address), timeout_seconds=UP_SECONDS
        )

    async def other(node: Node, _program: Any) -> Any:
        return None if node is head or node.name == head.name else await one(node, str(told["address"]))

    told: Mapping[str, Any] = first_failed([await outcome_of(head, one(head, None))])
    first_failed(await nodes.each(other))
    return told


async def outcome_of(node: Node, call: Any) -> Outcome:
    from allranks.transport import ProgramFailed

    try:
        return Outcome(node, await call)
    except ProgramFailed as error:
        return Outcome(node, error=error)


def first_failed(outcomes: list[Outcome]) -> Mapping[str, Any]:
    """The first answer; raises StartFailed for the first node without Ray."""
    for outcome in outcomes:
        if outcome.error is not None:
            text = getattr(outcome.error, "text", str(outcome.error))
            fix = "ray start --head by hand on that node shows more"
            raise StartFailed(outcome.node, f"ray: it did not start: {text}", fix, text)
    return outcomes[0].answer or {}
