"""Finds runs on a machine that did not start them: it asks nodes for their runs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from allranks.core import CouldNotTell, Node
from allranks.core.untrusted import listing, mapping, mappings, number, text
from allranks.node.paths import checked_name
from allranks.runs import index
from allranks.runs.node_targets import Access, open_targets
from allranks.spec import launchers
from allranks.transport import Unreachable


async def discover(nodes: str, access: Access) -> list[str]:
    """Asks these nodes for their runs, and puts those whose head is among them into the index. Returns their ids,
    newest first.

    Known entries do not change. Raises CouldNotTell if no node could be asked.
    """
    asked = open_targets(nodes, access)
    try:
        outcomes = await asked.each(lambda _node, program: program.call("read", "runs"))
    finally:
        await asked.close()
    failed = [outcome.error for outcome in outcomes if outcome.error is not None]
    if len(failed) == len(outcomes):
        if isinstance(failed[0], Unreachable) and len(failed) == 1:
            raise failed[0]
        raise CouldNotTell("; ".join(str(error) for error in failed[:3]))
    told: dict[str, dict[str, Mapping[str, Any]]] = {}
    for outcome in outcomes:
        for one in mappings(mapping(outcome.answer).get("runs")):
            told.setdefault(str(one.get("id")), {})[outcome.node.name] = one
    made = (entry_of(run_id, by_node, asked.nodes, access) for run_id, by_node in told.items())
    found = [entry for entry in made if entry is not None]
    for entry in found:
        if not index.entry(entry["id"]):
            index.write(entry["id"], entry)
    return [entry["id"] for entry in sorted(found, key=lambda entry: -entry["created_at"])]


def entry_of(
    run_id: str, told: Mapping[str, Mapping[str, Any]], asked: Mapping[str, Node], access: Access
) -> dict[str, Any] | None:
    """A run's entry for the index; None if its head is not among the nodes. Raises BadInput for an invalid id."""
    checked_name(run_id, "run")
    heads = [name for name, one in told.items() if one.get("state") or one.get("keeper_alive")]
    if not heads:
        return None
    # With a shared home every node can read the keeper's state, but only one of them sees the keeper alive.
    head = next((name for name in heads if told[name].get("keeper_alive")), heads[0])
    names = [checked_name(str(name), "node") for name in listing(told[head].get("nodes"))]
    places = {name: place_of(name, told, asked) for name in names}
    # The head must come first. Nodes that were not asked get the names that the run uses for them.
    order = sorted(names, key=lambda name: places[name] != head)
    described = [
        node_json(name, rank, asked.get(places[name] or "") or Node(name, name, rank), access)
        for rank, name in enumerate(order)
    ]
    return {
        "id": run_id,
        "name": text(told[head].get("name")),
        "file": None,
        "launch": launchers.LOCAL if is_local(order, places, asked) else launchers.DEFAULT,
        "user": access.user,
        "transport": access.transport,
        "address": None,
        "created_at": number(told[head].get("started_at")) or time.time(),
        "nodes": described or [node_json(head, 0, asked[head], access)],
    }


def place_of(name: str, told: Mapping[str, Mapping[str, Any]], asked: Mapping[str, Node]) -> str | None:
    """The asked node that is the run's node of this name: the one with that name, else the one that sees its
    supervisor alive, else the only one that has its folder (with a shared home all nodes have it)."""
    if name in asked:
        return name
    having = [place for place, one in told.items() if name in mapping(one.get("supervisors"))]
    alive = [p for p in having if mapping(mapping(told[p].get("supervisors")).get(name)).get("alive") is True]
    if len(alive) == 1:
        return alive[0]
    return having[0] if len(having) == 1 else None


def is_local(names: Sequence[str], places: Mapping[str, str | None], asked: Mapping[str, Node]) -> bool:
    """Whether all nodes are this machine, so that SSH is not needed."""
    nodes = [asked.get(places[name] or "") for name in names]
    return all(node is not None and node.address in ("127.0.0.1", "::1") and not node.port for node in nodes)


def node_json(name: str, rank: int, node: Node, access: Access) -> dict[str, Any]:
    return {**node.as_json(), "name": name, "rank": rank, "user": node.user or access.user}
