"""DeepSpeed's operators: which a configuration needs, and a real build on a node."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from allranks.prepare import ops
from allranks.prepare.failures import NotReady
from allranks.spec import Run, loads
from allranks.transport import NodeProgram
from allranks.transport.local import LocalTransport

CPU, GPU = "deepspeed.ops.op_builder.cpu", "deepspeed.ops.op_builder"


def run(**arguments: Any) -> Run:
    lines = "".join(f", {key}: {value}" for key, value in arguments.items())
    return loads(f"nodes: localhost\ntrain: {{llamafactory: {{model_name_or_path: /m{lines}}}}}\n")


@pytest.mark.parametrize(
    ("arguments", "deepspeed", "expected"),
    [
        ({}, {"zero_optimization": {"stage": 3}}, []),
        ({}, {"zero_optimization": {"offload_optimizer": {"device": "cpu"}}}, [(GPU, "CPUAdamBuilder")]),
        ({}, {"optimizer": {"type": "AdamW"}}, [(GPU, "FusedAdamBuilder")]),
        (
            {},
            {
                "zero_optimization": {
                    "offload_optimizer": {"device": "cpu"},
                    "offload_param": {"device": "nvme"},
                }
            },
            [(GPU, "CPUAdamBuilder"), (GPU, "AsyncIOBuilder")],
        ),
        ({"use_cpu": "true"}, {"zero_optimization": {"stage": 3}}, [(CPU, "ShareMemCommBuilder")]),
        ({"use_cpu": "true"}, None, []),
    ],
)
def test_what_a_configuration_compiles(arguments, deepspeed, expected) -> None:
    assert ops.builders(run(**arguments), deepspeed) == expected


def build(builder: str, **env: str) -> None:
    program = NodeProgram(LocalTransport("here"), sys.executable)
    asyncio.run(ops.compile_ahead(program, sys.executable, [(CPU, builder)], env))


@pytest.mark.training
def test_a_build_that_fails_says_why_and_on_which_node() -> None:
    with pytest.raises(NotReady) as caught:
        build("NoSuchBuilder")
    (finding,) = caught.value.findings
    assert (finding.id, finding.where.node) == ("ops-not-built", "here") and "NoSuchBuilder" in finding.saw


@pytest.mark.training
def test_an_operator_is_there_once_it_was_built_ahead() -> None:
    folder = os.environ["TORCH_EXTENSIONS_DIR"]
    build("ShareMemCommBuilder", TORCH_EXTENSIONS_DIR=folder)
    assert list(Path(folder).rglob("*shm_comm*.so"))
