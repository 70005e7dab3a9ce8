"""A model family is known in its own file alone, and what other rooms ask of it holds for each."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from allranks import plan
from allranks.checkpoints.expectation import READS_RESIDUAL, WRITES_RESIDUAL
from allranks.plan import families
from allranks.plan.model import LINEAR, Model
from allranks.worker.moe import ROUTERS

DEFAULTS = json.loads((Path(__file__).parent / "data" / "defaults.json").read_text())
"""By model type: what transformers takes for a key that a config.json leaves out, and how many layers slide then."""

SMALL: dict[str, Any] = {"num_hidden_layers": 6}


def described(name: str, fused: bool) -> Model:
    """The family with its own defaults, under the first of its model types that is described."""
    module = families.find(name)
    return families.describe({**SMALL, "model_type": [name, *getattr(module, "ALSO", ())][-1]}, fused)


@pytest.mark.parametrize("name", families.names())
@pytest.mark.parametrize("fused", [True, False])
def test_a_familys_layers_are_regular(name: str, fused: bool) -> None:
    """`checkpoints` judges an adapter of a described family by this."""
    model = described(name, fused)
    attention = [
        [(m.leaf, m.tensors) for m in layer if ".self_attn." in m.name and m.kind == LINEAR]
        for layer in model.by_layer
    ]
    assert attention[0] and all(one == attention[0] for one in attention)
    for module in model.modules:
        if module.kind == LINEAR and module.layer is not None:
            outputs, inputs = dict(module.tensors)["weight"]
            assert module.leaf not in READS_RESIDUAL or inputs == model.hidden, module
            assert module.leaf not in WRITES_RESIDUAL or outputs == model.hidden, module


@pytest.mark.parametrize("name", families.names())
def test_separate_experts_are_in_a_block_that_the_ranks_recognize(name: str) -> None:
    """Else ZeRO-3 hangs with transformers before 5, and the check `moe-leaf` is silent about described families."""
    model = described(name, fused=False)
    names = {module.name for module in model.modules}
    apart = [m for m in model.modules if m.expert and m.kind == LINEAR]
    for block in {module.name.partition(".experts.")[0] for module in apart}:
        assert any(f"{block}.{router}" in names for router in ROUTERS), block
    assert bool(apart) == bool(model.experts and not model.stored_fused)


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_familys_defaults_are_those_of_transformers(name: str) -> None:
    """A config.json that leaves a key out means them. `test_families_exact.py` compares the record itself."""
    theirs, ours = dict(DEFAULTS[name]), dict(families.find(name).DEFAULTS)
    assert {key: value or None for key, value in ours.items()} == {k: v or None for k, v in theirs.items()}


def test_each_family_has_recorded_defaults() -> None:
    proved = {families.find(name).__name__.rpartition(".")[2] for name in DEFAULTS}
    assert proved == set(families.names()), (
        "ALLRANKS_GOLDEN=write pytest tests/plan/test_families_exact.py -k recorded_defaults writes the record"
    )


@pytest.mark.parametrize("name", families.names())
def test_a_family_says_what_it_is(name: str) -> None:
    summary = (families.find(name).__doc__ or "").splitlines()[0]
    assert (
        summary.endswith(".") and "|" not in summary and f"| `{name}` | {summary[:-1]} |" in families.table()
    )


def test_no_family_is_named_outside_its_file() -> None:
    known = {
        name for family in families.names() for name in (family, *getattr(families.find(family), "ALSO", ()))
    }
    room = Path(plan.__file__).parent
    texts = {
        p: p.read_text(encoding="utf-8") for p in room.parent.rglob("*.py") if p.parent != room / "families"
    }
    named = [
        f"{path}:{node.lineno} {node.value}"
        for path, text in texts.items()
        if not known.isdisjoint(re.findall(r"[\w.-]+", text))  # to parse them all takes two seconds
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in known
    ]
    assert named == []


def test_only_a_family_of_its_own_is_described() -> None:
    assert families.is_described("gemma3_text") and families.is_described("llama")
    assert not any(map(families.is_described, ("hunyuan_v1_moe", "", None, ["llama"], "_parts")))
