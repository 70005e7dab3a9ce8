"""A container's record is read without trust: the training script can write it from inside the container."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Any, cast

import pytest

from allranks.core import Node
from allranks.prepare import records
from allranks.prepare.container_commands import Contained
from allranks.prepare.records import record_of
from allranks.transport import NodeProgram, Nodes, Unreachable

DOCKER = Contained(
    engine="docker",
    container="0123456789abcdef" * 4,
    name="allranks-lora-node-0-1a2b3c4d",
    node="node-0",
    home="/home/ubuntu/.allranks",
    run="lora-1",
    image="image:1",
    reference="image@sha256:01",
    description="d",
)
NAME = "allranks-lora-node-0-1a2b3c4d"


class Recorded:
    """A node whose run directory holds this record."""

    def __init__(self, record: object):
        self.record = record

    async def call(self, *words: str, **_: Any) -> dict[str, Any]:
        return {"text": json.dumps(self.record)}


def read(record: object, run: str = "lora-1", node: str = "node-0") -> Contained | None:
    return asyncio.run(record_of(cast(NodeProgram, Recorded(record)), run, node))


@pytest.mark.parametrize(
    "more",
    [{}, {"engine": "podman"}, {"engine": "apptainer", "container": NAME}],
    ids=["docker", "podman", "apptainer"],
)
def test_what_was_written_is_read(more: dict[str, str]) -> None:
    written = {**DOCKER.as_json(), **more}
    again = read(written)
    assert again is not None and again.as_json() == written


@pytest.mark.parametrize(
    "more",
    [
        {"engine": "/home/ubuntu/.allranks/runs/lora-1/nodes/node-0/work/evil"},
        {"engine": "sh"},
        {"engine": "docker\n"},
        {"container": "--privileged"},
        {"container": NAME},
        {"container": ""},
        {"engine": "apptainer", "container": "--bind=/"},
        {"name": "-f"},
        {"name": "../x"},
        {"container": None},
    ],
    ids=repr,
)
def test_a_record_that_names_a_program_or_an_option_is_none(more: dict[str, Any]) -> None:
    assert read({**asdict(DOCKER), **more}) is None


def test_a_record_of_another_run_or_node_is_none() -> None:
    assert read(DOCKER.as_json(), run="other-1") is None
    assert read(DOCKER.as_json(), node="node-1") is None


def test_an_engine_that_does_not_answer_is_not_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes may live inside, and only the run's folder knows the container's name."""
    node = Node("node-0", "10.0.0.1", 0)
    targets = Nodes({"node-0": cast(NodeProgram, Recorded(DOCKER.as_json()))}, {"node-0": node})

    async def fails(program: NodeProgram, contained: Contained) -> None:
        raise Unreachable("node-0", "no-answer", "docker did not answer within 20 s")

    monkeypatch.setattr(records.containers, "still_ours", fails)
    found = asyncio.run(records.remains_of(targets, "lora-1"))
    assert (found.there, found.running, found.gone) == ({}, {}, [])
    assert "docker container could not be looked at" in found.failed["node-0"]

    monkeypatch.setattr(records.containers, "remove", fails)
    found = records.Remains(known={"node-0": DOCKER})
    assert asyncio.run(records.remove_containers(targets, found)) == {}
    assert "allranks-lora-node-0-1a2b3c4d stays" in found.failed["node-0"]
