"""The bytes of one checkpoint that the check of free space asks for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from allranks.checks.rules import disk_space


@pytest.mark.parametrize(
    ("arguments", "trainable", "each", "count"),
    [
        ({}, 10, 4 + 16, 4),  # an adapter in float32, master weights, two moments and a gradient
        ({}, 1000, 2 + 16, 4),  # the whole model in 16 bits beside them
        ({"save_only_model": True}, 1000, 4, 4),
        ({"save_strategy": "no"}, 1000, 4, 1),
        ({"save_strategy": False}, 10, 4, 1),  # as YAML reads `no`
        ({"save_strategy": "steps"}, 10, 4 + 16, 4),
    ],
)
def test_the_bytes_that_a_run_saves(arguments: dict[str, Any], trainable: int, each: int, count: int) -> None:
    context: Any = SimpleNamespace(
        arguments=arguments,
        plan=SimpleNamespace(trainable_parameters=trainable, total_parameters=1000),
        run=SimpleNamespace(save=SimpleNamespace(keep=3)),
    )
    assert disk_space.checkpoint_bytes(context) == each * trainable
    assert disk_space.planned_bytes(context) == each * trainable * count + disk_space.SPARE_BYTES
