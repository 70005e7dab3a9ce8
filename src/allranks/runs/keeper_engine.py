"""Reads which actors Ray loses while the run trains.

Ray's driver runs on the head node beside the keeper and appends them to `engine/lost.jsonl` in the run's folder.
"""

from __future__ import annotations

import os
from typing import List

from allranks.core import WARN, Finding, Where
from allranks.node.paths import RunDirectory, Tail

MOST = 64
"""Findings per run: a broken driver must not fill the journal."""


class Lost:
    """`take` returns a finding for each actor that Ray has lost since the last call."""

    def __init__(self, directory: RunDirectory, nodes: List[str]):
        self.tail = Tail(os.path.join(directory.root, "engine", "lost.jsonl"))
        self.nodes, self.said = nodes, 0

    def take(self) -> List[Finding]:
        found = []
        for line in self.tail.read():
            if line.get("node") in self.nodes and self.said < MOST:
                self.said += 1
                found.append(actor_died(str(line["node"]), str(line.get("why") or "")))
        return found


def actor_died(node: str, why: str) -> Finding:
    """Only a warning, because the node's supervisor already has the order to save and to stop."""
    return Finding(
        id="ray-actor-died",
        verdict=WARN,
        where=Where(node=node),
        saw=f"Ray lost the actor that holds this node's resources: {why[:400] or 'it gave no reason'}",
        expected="an actor for as long as the run's supervisor works there",
        why="Ray gives the node's GPUs to others then, so the run saves and ends.",
        fix="read the reason with ray logs on that node; then: allranks run FILE with resume: auto",
        evidence=(why[:600],) if why else (),
    )
