"""Ray: a job whose actors, one per machine (STRICT_SPREAD), hold the nodes' resources and start the supervisors.

The job goes to a running cluster (`launch.address`, its dashboard), or to a cluster of the run itself: allranks
starts it over SSH on the nodes, and it ends with the run (`node/ray_cluster.py`). The head node submits the job by
Ray's REST API. `ray job list` shows it by the run's id, and `ray job stop` ends the run with a save. Tested with Ray
2.60.
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
from allranks.launch.launchers.ray.rendering import dashboard_of
from allranks.launch.starting import Start, StartFailed
from allranks.transport import Nodes, ProgramFailed, Unreachable

UP_SECONDS = 300.0
ROOM_SECONDS = 30
"""Time for Ray to place the actors. Together with the start of its driver, this is less than `node/engine_orders.py`
waits."""

JOIN_SECONDS = 10
AUTO = "http://127.0.0.1:8265"


def brings_cluster(start: Start) -> bool:
    return start.run.launch.address is None


def refuse_strange(start: Start) -> None:
    """Raises BadInput for runs that STRICT_SPREAD cannot place, and for `launch.extra`."""
    addresses = [node.address for node in start.nodes]
    twice = [address for address in addresses if addresses.count(address) > 1]
    if twice:
        raise start.run.refuse(
            "nodes",
            f"{twice[0]} is the address of more than one node.",
            "Ray places one actor per machine (STRICT_SPREAD).",
            "one node per machine with more gpus, or launch: {with: ssh}",
        )
    if start.run.launch.extra:
        raise start.run.refuse(
            "launch.extra",
            f"launch.extra: {shlex.join(start.run.launch.extra)}",
            "the job is submitted by Ray's API, which takes no options of a command line.",
            "take it out; launch.address names a cluster with settings of its own",
        )


async def begin(start: Start, nodes: Nodes, run_id: str) -> tuple[list[str], bytes]:
    """Starts the cluster if it belongs to the run. Returns the command that submits the job on the head, and its
    input.

    Raises StartFailed if a node's Ray does not start, Unreachable and ProgramFailed.
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
        wanted["address"] = dashboard_of(start.run) or AUTO
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
    """The driver's task: its actors, their needs, and the file for its lines."""
    nodes = [
        {"name": n.name, "address": n.address, "gpus": gpus_of(start, n), "script": start.scripts[n.name]}
        for n in start.nodes
    ]
    return {
        "run": run_id,
        "nodes": nodes,
        "log": posixpath.join(folder, "engine", "engine.log"),
        "events": posixpath.join(folder, "engine", "lost.jsonl"),
        "leaving": posixpath.join(folder, LEAVING),
        "join_seconds": JOIN_SECONDS,
        "room_seconds": ROOM_SECONDS,
    }


def gpus_of(start: Start, node: Node) -> int:
    """How many GPUs Ray gives the node's actor; 0 for ranks that train on CPUs."""
    uses = any(row["gpu"] is not None for row in start.plan.ranks)
    return node.gpus if uses else 0


def token(env: Mapping[str, str] = os.environ) -> str | None:
    """The cluster's token, found on this machine in the same way as Ray's own tools find it. Only standard input
    passes it on."""
    if env.get("RAY_AUTH_TOKEN"):
        return env["RAY_AUTH_TOKEN"]
    path = Path(env.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


# ---- the run's own cluster ----


async def bring_up(start: Start, nodes: Nodes, run_id: str) -> Mapping[str, Any]:
    """Starts Ray on the head, then on all others at once; returns the head's answer."""
    key = secrets.token_hex(32)
    head, others = start.nodes[0], start.nodes[1:]
    python = start.run.environment.python
    if start.run.container is not None and start.run.container.engine != "none":
        python = None  # Ray runs on the host, and starts the program in the container
    common = {"python": python, "peer": others[0].address if others else None, "token": key}

    async def one(node: Node, address: str | None) -> Mapping[str, Any]:
        wanted = {**common, "head": address, "gpus": gpus_of(start, node)}
        return await nodes[node.name].call(
            "ray", "up", run_id, node.name, stdin=wanted, timeout_seconds=UP_SECONDS
        )

    async def other(node: Node, _program: Any) -> Any:
        return None if node.name == head.name else await one(node, str(told["address"]))

    try:
        told = await one(head, None)
    except ProgramFailed as error:
        raise not_started(head, error) from None
    for outcome in await nodes.each(other):
        if outcome.error is not None:
            raise not_started(outcome.node, outcome.error)
    return told


def not_started(node: Node, error: ProgramFailed | Unreachable) -> StartFailed:
    fix = "ray start --head by hand on that node shows more"
    return StartFailed(node, f"ray: it did not start: {error.text}", fix, error.text)
