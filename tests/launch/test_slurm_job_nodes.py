"""The nodes of a SLURM job of somebody's."""

from __future__ import annotations

import asyncio

import pytest

from allranks.core import BadInput
from allranks.launch.launchers.slurm import jobs
from allranks.launch.launchers.slurm.job_nodes import nodes_of_job
from allranks.launch.launchers.slurm.jobs import Job
from allranks.launch.launchers.slurm.transport import SlurmTransport


def told(monkeypatch: pytest.MonkeyPatch, job: Job) -> None:
    async def one(number: str) -> Job:
        return job

    monkeypatch.setattr(jobs, "job", one)


def test_each_node_is_reached_inside_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, Job("4711", "RUNNING", "", "gpu[1-2,7]", "", "4711"))
    nodes = asyncio.run(nodes_of_job("4711"))
    assert list(nodes.nodes) == ["gpu1", "gpu2", "gpu7"]
    way = nodes["gpu7"].transport
    assert isinstance(way, SlurmTransport)
    words = way.words(["python3"])
    assert "--jobid=4711" in words and "--nodelist=gpu7" in words and "--overlap" in words


@pytest.mark.parametrize("job", [Job("4711"), Job("4711", "PENDING", "Resources")])
def test_a_job_that_holds_no_nodes_is_bad_input(monkeypatch: pytest.MonkeyPatch, job: Job) -> None:
    told(monkeypatch, job)
    with pytest.raises(BadInput, match="4711"):
        asyncio.run(nodes_of_job("4711"))
