"""Handles `nodes: 3` with Ray: asks the cluster's dashboard which machines there are."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from allranks.launch.launchers.ray import words
from allranks.node import ray_job
from allranks.spec import Run


async def chosen(run: Run) -> Run:
    """The run with the names and addresses of living machines. Raises BadInput if there are too few."""
    address = run.launch.address
    if address is None:
        raise run.refuse(
            "nodes",
            f"nodes: {len(run.cluster.nodes)} names no machine.",
            "without launch.address there is no cluster that could choose them.",
            "name the nodes, or launch: {with: ray, address: HOST:PORT}",
        )
    dashboard = words.AUTO if address == "auto" else f"http://{address}"
    try:
        there = await asyncio.to_thread(ray_job.machines, dashboard, words.token(os.environ))
    except ray_job.Refused as error:
        raise run.refuse(
            "launch.address",
            f"Ray cannot be asked for its nodes: {error}",
            f"nodes: {len(run.cluster.nodes)} leaves the choice to it.",
            "name the nodes, or run this where its dashboard can be reached; RAY_AUTH_TOKEN is its token",
        ) from None
    return placed(run, there)


def placed(run: Run, there: Sequence[Mapping[str, Any]]) -> Run:
    """The run on some of the machines in `there`, the cluster's living ones. The cluster's head becomes the run's
    head."""
    wanted = run.cluster.nodes
    counts_gpus = not run.on_cpu and any(machine["gpus"] for machine in there)
    needs = max(node.gpus for node in wanted)
    fitting = [machine for machine in there if not counts_gpus or machine["gpus"] >= needs]
    if len(fitting) < len(wanted):
        have = ", ".join(f"{machine['name']} ({machine['gpus']:g} GPUs)" for machine in there)
        raise run.refuse(
            "nodes",
            f"{len(fitting)} machines of the Ray cluster have {needs} GPUs: {have or 'it has none'}",
            f"{len(wanted)} are needed.",
            "fewer nodes or gpus, or a larger cluster",
        )
    ordered = sorted(fitting, key=lambda machine: (not machine["head"], machine["address"]))
    nodes = tuple(
        replace(node, name=machine["name"], address=machine["address"])
        for node, machine in zip(wanted, ordered, strict=False)
    )
    return replace(run, cluster=replace(run.cluster, nodes=nodes), nodes_known=True)
