"""A container's record is read without trust: the training script can write it from inside the container."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Any, cast

import pytest

from allranks.prepare.container_commands import Contained
from allranks.prepare.records import record_of
from allranks.transport import NodeProgram

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
