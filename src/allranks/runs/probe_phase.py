"""The probe as a phase of a run: when it takes place, and which results the plan takes from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from allranks.plan import Plan
from allranks.probe import Options, Probed, probe
from allranks.runs.inspection import python_of
from allranks.spec import Run
from allranks.transport import Nodes


def takes_place(run: Run, asked: bool | None) -> bool:
    """Whether to probe: as the user asked, else if there are several machines. On one host no network can be broken,
    and the probe would add 3 to 5 s to each start."""
    if asked is not None:
        return asked
    return len(run.cluster.nodes) > 1 and not run.is_here and not run.same_host


async def probe_run(nodes: Nodes, run: Run, plan: Plan, pythons: Mapping[str, str]) -> Probed:
    """Probes the network. `nodes` are the nodes as training sees them; `pythons` are those of their training
    environments."""
    return await probe(nodes, run, plan, Options(python=python_of(run), pythons=pythons))


def with_environment(plan: Plan, probed: Probed) -> Plan:
    """The plan with the interface that passed, and with the fastest fabric that passed if `network.fabric` is `auto`.
    Variables that the plan already has stay: they come from the user, or from the same route."""
    found = probed.environment
    if plan.run.network.fabric != "auto":
        fabric = {name for name in found["all"] if name.endswith("_DISABLE")}
        found = {**found, "all": {k: v for k, v in found["all"].items() if k not in fabric}}
    return replace(plan, environment=merged(plan.environment, found))


def merged(
    planned: Mapping[str, Mapping[str, Any]], found: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Merges two `{"all": …, "nodes": …}`. If both have a variable, the planned value counts."""
    all_nodes: dict[str, Any] = {**found.get("all", {}), **planned.get("all", {})}
    nodes: dict[str, dict[str, Any]] = {}
    for name in {**found.get("nodes", {}), **planned.get("nodes", {})}:
        theirs = {k: v for k, v in found.get("nodes", {}).get(name, {}).items() if k not in all_nodes}
        nodes[name] = dict(sorted({**theirs, **planned.get("nodes", {}).get(name, {})}.items()))
    return {"all": dict(sorted(all_nodes.items())), "nodes": nodes}
