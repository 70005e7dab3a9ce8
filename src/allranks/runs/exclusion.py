"""`run --exclude-unready`: leaves out nodes that fail their check. Spares take their places, and the rest trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from allranks import checks
from allranks.core import WARN, Cluster, Finding, Where
from allranks.core.text import fold
from allranks.runs.allocation import Acquired
from allranks.runs.inspection import Inspection, inspect
from allranks.spec import Run
from allranks.transport import Nodes

ROUNDS = 3
"""The other nodes are judged again, at most this often, because they are then compared with fewer nodes. The check
before the launch judges the rest."""


def refuse_queue(run: Run) -> None:
    """Raises BadInput for a launcher with a queue: its job holds all nodes."""
    if run.launcher.queue is not None:
        raise run.refuse(
            "launch.with",
            f"--exclude-unready with launch: {{with: {run.launch.with_}}}",
            "the nodes are those of a job, and every one of them is started.",
            "leave bad nodes out of the job: launch: {extra: [--exclude=NAME]}",
        )


async def ready(acquired: Acquired) -> Acquired:
    """The run on the nodes that pass, with a `node-excluded` note for each other node. If no node passes, or all do,
    the run stays as it is, and the check before the launch reports the errors."""
    for _ in range(ROUNDS):
        seen = await inspect(acquired.nodes, acquired.run)
        failed = failing(seen)
        if not failed or len(failed) == len(acquired.run.cluster.nodes):
            break
        kept = without(acquired.run, failed)
        names = {node.name: node for node in kept.cluster.nodes}
        nodes = Nodes({name: acquired.nodes[name] for name in names}, names)
        left = [name for name in acquired.nodes.nodes if name not in names]
        await Nodes({n: acquired.nodes[n] for n in left}, {n: acquired.nodes.nodes[n] for n in left}).close()
        acquired = replace(acquired, run=kept, nodes=nodes)
    return acquired


def failing(seen: Inspection) -> dict[str, tuple[str, ...]]:
    """The nodes on which a finding stops the launch, each with the ids of its findings."""
    found = checks.standings(seen.facts, seen.plan, seen.run, seen.findings)
    return {one.node.name: one.findings for one in found if not one.passes}


def without(run: Run, failed: Mapping[str, Sequence[str]]) -> Run:
    """The run without these nodes. As long as there are spares, it trains on as many nodes as before."""
    cluster = run.cluster
    kept = [node for node in cluster.nodes if node.name not in failed]
    training = min(len(cluster.training), len(kept))
    nodes = tuple(replace(node, rank=rank) for rank, node in enumerate(kept))
    smaller = Cluster(nodes, len(kept) - training)
    launch = replace(run.launch, spares=smaller.spares)
    notes = [excluded(name, ids, cluster, smaller) for name, ids in failed.items()]
    return replace(run, cluster=smaller, launch=launch, notes=(*run.notes, *notes))


def excluded(name: str, ids: Sequence[str], before: Cluster, after: Cluster) -> Finding:
    follows = f"{fold(node.name for node in after.training)} train instead; {after.spares} spares are left."
    if after.world_size != before.world_size:
        follows = (
            f"{after.world_size} ranks train instead of {before.world_size}, so a step sees fewer samples, "
            "and the memory was planned again."
        )
    return Finding(
        id="node-excluded",
        verdict=WARN,
        where=Where(node=name),
        saw=f"{name} is left out of this run: {', '.join(ids)}",
        expected="nothing on it that stops a launch",
        why=follows,
        fix="allranks check FILE, then repair that node",
    )
