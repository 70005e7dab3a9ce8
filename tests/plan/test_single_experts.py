"""Routed experts before transformers 5, one Linear each: against what 4.52.4 itself built (`data/`)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from allranks.plan.families import describe
from allranks.plan.lora import ALL_LINEAR, Lora, linear_names, trained_by_lora

RECORDED = json.loads((Path(__file__).parent / "data" / "before_transformers_5.json").read_text())["models"]


@pytest.mark.parametrize("seen", RECORDED, ids=lambda seen: seen["config"]["model_type"])
def test_every_tensor_and_what_trains(seen: dict) -> None:
    model = describe(seen["config"], fused_experts=False)
    shapes = {f"{m.name}.{t}": list(shape) for m in model.modules if not m.shared for t, shape in m.tensors}
    assert (len(shapes), model.total_parameters) == (seen["tensors"], seen["total"])
    digest = hashlib.sha256(json.dumps(sorted(shapes.items())).encode()).hexdigest()
    assert digest == seen["names_and_shapes_sha256"]
    assert set(linear_names(model)) == set(seen["all"])
    assert trained_by_lora(model, Lora(rank=8, targets="all")).parameters == seen["trains_all"]
    assert trained_by_lora(model, Lora(rank=8, targets=ALL_LINEAR)).parameters == seen["trains_all_linear"]


@pytest.mark.parametrize("seen", RECORDED, ids=lambda seen: seen["config"]["model_type"])
def test_the_total_does_not_depend_on_how_experts_are_held(seen: dict) -> None:
    assert describe(seen["config"], fused_experts=True).total_parameters == seen["total"]
