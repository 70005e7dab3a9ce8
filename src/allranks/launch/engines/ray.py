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
from allranks.launch.engines import Launch, slurm
from allranks.launch.engines._ray_driver import DRIVER
from allranks.transport import Nodes, Outcome

PROGRAM = "ray"
STAYS = True
"""The actor holds the node's GPUs for as long as the supervisor works."""

UP_SECONDS = 300.0
ROOM_SECONDS = 30
"""How long Ray may take to place the actors; with its driver's start less than `node/engine_orders.py` waits."""

JOIN_SECONDS = 10
AUTO = "http://127.0.0.1:8265"

SHARED = "ray status on the cluster; launch: {with: ray} without address brings a cluster of the run's own"
SAYS = (
    (
        r"^ray: .*answered 40[13]",
        "the cluster refuses the token",
        "export RAY_AUTH_TOKEN, or ~/.ray/auth_token",
    ),
    (r"^ray: no answer from", "nothing answers at launch.address from the head node", SHARED),
    (r"^ray: .*no Ray dashboard", "what answers there is none of Ray's", SHARED),
    (r"no living node of this Ray cluster", "it is not in the cluster", SHARED),
    (r"no room", "the cluster has no room for it", SHARED),
    (r"Ray runs there as user|Permission denied", "Ray runs as another user", "start Ray as the run's user"),
    (r"its actor did not begin", "its actor did not begin", "ray logs on that node"),
    (r"^ray: ", "the job did not start the supervisors", "ray job logs shows the rest"),
    (
        r"^\S+: .*(No such file|No space left|Read-only)",
        "the run's folder cannot be used there",
        "ALLRANKS_HOME",
    ),
)


def path_of(node: Node) -> str:
    return f"nodes/{node.name}/start.sh"


def brings_cluster(launch: Launch) -> bool:
    return launch.run.launch.address is None


def refuse_strange(launch: Launch) -> None:
    """Raises BadInput for runs that STRICT_SPREAD cannot place, and for what is no address."""
    addresses = [node.address for node in launch.nodes]
    twice = [address for address in addresses if addresses.count(address) > 1]
    if twice:
        raise launch.refuse(
            "nodes",
            f"{twice[0]} is the address of more than one node.",
            "Ray places one actor a machine (STRICT_SPREAD).",
            "one node a machine with more gpus, or launch: {with: ssh}",
        )
    if launch.run.launch.extra:
        raise launch.refuse(
            "launch.extra",
            f"launch.extra: {shlex.join(launch.run.launch.extra)}",
            "the job is submitted by Ray's API, which takes no options of a command line.",
            "take it out; launch.address names a cluster with settings of its own",
        )


async def begin(launch: Launch, nodes: Nodes, run_id: str) -> tuple[list[str], bytes]:
    """Makes the cluster where the run brings one; the words that submit the job on the head, and their input.

    Raises ClusterFailed where a node's Ray does not start, Unreachable and ProgramFailed.
    """
    refuse_strange(launch)
    head = launch.nodes[0]
    folder = launch.scripts[head.name][: -len(path_of(head)) - 1]
    wanted: dict[str, Any] = {"log": f"{folder}/engine/engine.log"}
    if brings_cluster(launch):
        told = await bring_up(launch, nodes, run_id)
        python = shlex.quote(told["python"])
        wanted["address"] = f"http://127.0.0.1:{told['dashboard']}"
        wanted["token_file"] = f"{folder}/nodes/{head.name}/ray-token"
    else:
        python = '"$(command -v python || command -v python3)"'
        wanted["address"] = dashboard_of(launch)
        wanted["token"] = token()
        wanted["head"] = {"name": head.name, "address": head.address}
    files = {"engine/ray_driver.py": DRIVER, "engine/ray.json": task(launch, run_id, folder)}
    await nodes[head.name].call("put", run_id, stdin={"files": files})
    paths = shlex.join([f"{folder}/engine/ray_driver.py", f"{folder}/engine/ray.json"])
    wanted["job"] = {
        "entrypoint": f"exec {python} {paths}",
        "submission_id": run_id,
        "metadata": {"allranks": launch.run.name},
        "entrypoint_resources": {"node:__internal_head__": 0.001} if brings_cluster(launch) else None,
    }
    words = nodes[head.name].argv("ray", "submit", run_id)
    return words, json.dumps(wanted).encode()


def task(launch: Launch, run_id: str, folder: str) -> dict[str, Any]:
    """What the driver does: which actors, with what, where its lines go."""
    return {
        "run": run_id,
        "nodes": [
            {
                "name": node.name,
                "address": node.address,
                "gpus": gpus_of(launch, node),
                "script": launch.scripts[node.name],
            }
            for node in launch.nodes
        ],
        "log": posixpath.join(folder, "engine", "engine.log"),
        "events": posixpath.join(folder, "engine", "lost.jsonl"),
        "leaving": posixpath.join(folder, slurm.LEAVING),
        "join_seconds": JOIN_SECONDS,
        "room_seconds": ROOM_SECONDS,
    }


def gpus_of(launch: Launch, node: Node) -> int:
    """What Ray counts as GPUs of a node; none for ranks that train on CPUs."""
    uses = any(row["gpu"] is not None for row in launch.plan.ranks)
    return node.gpus if uses else 0


def dashboard_of(launch: Launch) -> str:
    """launch.address as the head node reaches it: where Ray's job API listens."""
    address = str(launch.run.launch.address)
    if address == "auto":
        return AUTO
    if address.startswith("-") or "://" in address:
        raise launch.refuse(
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


class ClusterFailed(Exception):
    """Ray did not start on a node."""

    def __init__(self, node: Node, text: str):
        super().__init__(text)
        self.node, self.text = node, text


async def bring_up(launch: Launch, nodes: Nodes, run_id: str) -> Mapping[str, Any]:
    """Ray on the head, then on all others at once; what the head's said."""
    key = secrets.token_hex(32)
    head, others = launch.nodes[0], launch.nodes[1:]
    python = launch.run.environment.python
    if launch.run.container is not None and launch.run.container.engine != "none":
        python = None  # Ray is the host's, as in the seeds' way: it starts what is in the container

    def wanted(node: Node, address: str | None) -> dict[str, Any]:
        peer = others[0].address if others else None
        own = {"python": python, "head": address, "peer": peer, "token": key}
        return {**own, "gpus": gpus_of(launch, node)}

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
    """The first answer; raises ClusterFailed for the first node without Ray."""
    for outcome in outcomes:
        if outcome.error is not None:
            raise ClusterFailed(outcome.node, getattr(outcome.error, "text", str(outcome.error)))
    return outcomes[0].answer or {}
