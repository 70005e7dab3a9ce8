"""Compares the numbers of machines and ranks that a launcher in the command names with the nodes of the run."""

from __future__ import annotations

from typing import Any

from allranks.core.net import is_loopback
from allranks.spec.problems import shown
from allranks.spec.reading import Reading
from allranks.spec.run import Run


def compare(run: Run, reading: Reading, at: Any) -> None:
    """Warns about each number of the launcher, and about a head, that contradicts the run's nodes."""
    trained = run.cluster.training
    sizes = sorted({node.gpus for node in trained}) or [None]
    ours = {
        "nodes": len(trained),
        "ranks": sizes[0] if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}",
        "total": sum(node.gpus for node in trained),
    }
    for what, (value, said) in reading.counts.items():
        mine = ours.get(what)
        if mine is None or mine == value or (what != "nodes" and reading.clashes):
            continue
        name = {"nodes": "machines", "ranks": "ranks per node", "total": "ranks"}[what]
        reading.warn(
            "launcher-contradicts",
            at,
            f"train.command: {shown(said)}, and the run has {mine} {name}.",
            "the run's nodes and gpus hold.",
            f"nodes and gpus that make {value}, or take it out of the command",
        )
    head = reading.head
    first = run.cluster.head
    if head and not is_loopback(first.address) and head not in (first.name, first.address):
        others = [node for node in run.cluster.nodes if head in (node.name, node.address)]
        if others:
            reading.warn(
                "launcher-contradicts",
                at,
                f"train.command: {shown(head)} should lead, and {first.name} is the first node.",
                "the first node is the head.",
                f"nodes: {head} first",
            )
