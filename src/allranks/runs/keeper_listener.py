"""Where the keeper listens for its supervisors, and what it says of one that did not come."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any, Dict, List, Mapping

from allranks.node.link import Listener
from allranks.node.paths import read_json
from allranks.words import BLOCK, WARN, Finding, Where


def listener_on(key: bytes, place: Dict[str, Any], nodes: List[str]) -> Listener:
    """On the head's own address where this machine has it; behind address translation on all of them."""
    port = int(place.get("port") or 0)
    try:
        return Listener(key, str(place["host"]), port, nodes)
    except OSError as error:
        if error.errno not in (errno.EADDRNOTAVAIL, None) and not isinstance(error, socket.gaierror):
            raise
        return Listener(key, "", port, nodes)


def did_not_join(node: str, job: Mapping[str, Any], root: str, port: int) -> Finding:
    """`root` is the run directory, where a submission leaves word that it came to its end."""
    task = job["keep"]
    mark = task.get("submitted")
    cut = mark is not None and read_json(os.path.join(root, str(mark))) is None
    saw = (
        f"its supervisor did not reach the keeper at {job['keeper']['host']}:{port}"
        f" within {task['join_seconds']:.0f} s."
    )
    fix = f"allranks logs {job['run_id']} --node {node}; check that the head's port is open to it."
    if cut:
        saw = "its supervisor was never started: the submission was cut off before it came to this node."
        fix = "start the run again: allranks run FILE. The controller must stay until all nodes are started."
    return Finding(
        id="submission-cut" if cut else "node-did-not-join",
        verdict=BLOCK,
        where=Where(node=node),
        saw=saw,
        why="no rank was started anywhere: the others would wait for this node until a time-out.",
        fix=fix,
    )


def spare_lost(node: str) -> Finding:
    """A node that was kept back and is no longer there."""
    return Finding(
        id="spare-lost",
        verdict=WARN,
        where=Where(node=node),
        saw="nothing is heard from this spare node.",
        why="the training goes on; a node that fails has one replacement less.",
        fix=f"is {node} up? It is taken again when its supervisor is heard.",
    )
