"""`run --exclude-unready`: who is left out, who takes the place, and when nobody is."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from allranks.core import BLOCK, BadInput, Finding, Where, facts_from_json
from allranks.runs import exclusion
from allranks.runs.allocation import Acquired
from allranks.runs.inspection import judge
from tests.checks.recorded_clusters import cluster


def spared(run, spares):
    return replace(
        run, cluster=replace(run.cluster, spares=spares), launch=replace(run.launch, spares=spares)
    )


def names(run):
    return [(node.name, node.rank) for node in run.cluster.nodes]


def test_a_spare_takes_the_place_of_a_node_that_fails():
    run = spared(cluster("a100").run, 1)
    kept = exclusion.without(run, {"node-0": ["driver-not-loaded"]})
    assert names(kept) == [("node-1", 0), ("node-2", 1)] and kept.cluster.spares == kept.launch.spares == 0
    assert kept.cluster.world_size == run.cluster.world_size == 16
    note = kept.notes[-1]
    assert note.where.node == "node-0" and "driver-not-loaded" in note.saw
    assert note.why == "node-[1-2] train instead; 0 spares are left."


def test_without_a_spare_fewer_ranks_train_and_the_note_says_so():
    run = cluster("a100").run
    kept = exclusion.without(run, {"node-1": ["gpu-lost"]})
    assert names(kept) == [("node-0", 0), ("node-2", 1)]
    assert "16 ranks train instead of 24" in kept.notes[-1].why


def test_a_spare_that_fails_changes_no_rank():
    run = spared(cluster("a100").run, 1)
    kept = exclusion.without(run, {"node-2": ["gpu-lost"]})
    assert names(kept) == [("node-0", 0), ("node-1", 1)] and kept.cluster.spares == 0
    assert kept.cluster.world_size == 16


class Programs:
    """Stands for `Nodes`: who is asked, and who is closed."""

    def __init__(self, run, closed):
        self.nodes = {node.name: node for node in run.cluster.nodes}
        self.closed = closed

    def __getitem__(self, name):
        programs = self

        class Program:
            class transport:
                @staticmethod
                async def close():
                    programs.closed.append(name)

        return Program


def ready(monkeypatch, run, recorded, failing=()):
    """The acquired run after the exclusion, and the nodes whose connections were closed."""
    seen = []

    async def inspect(nodes, run):
        seen.append([node.name for node in run.cluster.nodes])
        facts = [facts_from_json(one) for name, one in recorded.items() if name in seen[-1]]
        found = judge(run, facts)
        broken = [
            Finding("gpu-lost", BLOCK, where=Where(node=name), saw="x")
            for name in failing
            if name in seen[-1]
        ]
        return replace(found, findings=(*found.findings, *broken))

    monkeypatch.setattr(exclusion, "inspect", inspect)
    closed: list[str] = []
    return asyncio.run(exclusion.ready(Acquired(run, Programs(run, closed)))), seen, closed


def test_the_rest_is_judged_again_without_those_that_fail(monkeypatch):
    found = cluster("a100")
    kept, seen, closed = ready(monkeypatch, found.run, found.nodes, failing=["node-1"])
    assert seen == [["node-0", "node-1", "node-2"], ["node-0", "node-2"]] and closed == ["node-1"]
    assert names(kept.run) == [("node-0", 0), ("node-2", 1)] and list(kept.nodes.nodes) == [
        "node-0",
        "node-2",
    ]


def test_if_no_node_passes_the_run_stays_as_it_is(monkeypatch):
    found = cluster("a100")
    everyone = ["node-0", "node-1", "node-2"]
    kept, seen, closed = ready(monkeypatch, found.run, found.nodes, failing=everyone)
    assert kept.run == found.run and seen == [everyone] and not closed


def test_a_node_that_cannot_be_asked_is_left_out(monkeypatch):
    found = cluster("a100")
    kept, _, closed = ready(
        monkeypatch, found.run, {name: one for name, one in found.nodes.items() if name != "node-2"}
    )
    assert closed == ["node-2"] and "unreadable-node" in kept.run.notes[-1].saw


def test_the_nodes_of_a_job_are_not_chosen_here():
    run = cluster("a100").run
    queued = replace(run, launch=replace(run.launch, with_="slurm"))
    with pytest.raises(BadInput, match="--exclude-unready"):
        exclusion.refuse_queue(queued)
    exclusion.refuse_queue(run)
