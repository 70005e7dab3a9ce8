"""Whether a model drew random numbers while it was built, of which generator, and for which of its modules."""

from __future__ import annotations

import random
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import torch
from torch import nn

from allranks.worker import loader_hooks, zero_construction
from allranks.worker.zero_construction import Construction, are_same, random_states, set_random_states

DRAWS = [lambda: torch.rand(1), random.random, numpy.random.rand, lambda: numpy.random.randint(0, 9, 700)]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_draw_of_any_generator_is_seen_and_can_be_taken_back(draw: Any) -> None:
    before = random_states()
    assert are_same(before, random_states())
    first = draw()
    assert not are_same(before, random_states())
    set_random_states(before)
    assert are_same(before, random_states()) and numpy.array_equal(
        numpy.asarray(first), numpy.asarray(draw())
    )


def test_numpy_that_comes_meanwhile_is_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy.random")
    before = random_states()
    assert before.numpy is None
    monkeypatch.undo()
    assert are_same(before, random_states())
    set_random_states(before)


def test_another_generator_of_numpy_is_compared_too() -> None:
    states = random_states()
    told = {"bit_generator": "PCG64", "state": {"state": 1}}
    assert are_same(states._replace(numpy=told), states._replace(numpy=dict(told)))
    assert not are_same(states._replace(numpy=told), states._replace(numpy={**told, "state": {"state": 2}}))


def test_only_the_modules_that_drew_matter() -> None:
    model = nn.ModuleDict({"probe": nn.Linear(2, 3), "score": nn.Linear(2, 3)})
    construction = Construction()
    weight = model["probe"].weight
    construction.drawn[id(weight)] = weakref.ref(weight)
    assert construction.may_have_drawn(model, ["probe.bias"])
    assert not construction.may_have_drawn(model, ["score.weight", "score.bias"])
    assert not construction.may_have_drawn(model, [])


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}}, True),
        ({"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 1}}, False),
        ({"zero_optimization": {"stage": 3}}, False),
        ({"zero_optimization": None}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_second_partition_within_each_node(
    config: Any, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = SimpleNamespace(deepspeed_config=lambda: config)
    monkeypatch.setitem(sys.modules, "transformers.integrations.deepspeed", module)
    assert loader_hooks.has_second_partition() is expected
    monkeypatch.delitem(sys.modules, "transformers.integrations.deepspeed")
    assert loader_hooks.has_second_partition() is False


def test_with_it_the_library_loads_and_the_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rank: Any = SimpleNamespace(notes=[])
    module: Any = SimpleNamespace(is_deepspeed_zero3_enabled=lambda: True)
    monkeypatch.setenv(loader_hooks.VARIABLE, loader_hooks.OWN)
    monkeypatch.setattr(loader_hooks, "has_second_partition", lambda: True)
    loader = loader_hooks.Loader(rank, module)
    assert loader.from_pretrained(lambda cls, path: (cls, path), "Model", ("folder",), {}) == (
        "Model",
        "folder",
    )
    assert rank.notes == [loader_hooks.OF_NODES] and loader.attempt is None


def test_files_of_another_model_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rank: Any = SimpleNamespace(notes=[], place=None)
    module: Any = SimpleNamespace(is_deepspeed_zero3_enabled=lambda: True)
    monkeypatch.setenv(loader_hooks.VARIABLE, loader_hooks.OWN)
    loader = loader_hooks.Loader(rank, module)

    def original(cls: str, path: str) -> str:
        assert loader.attempt is not None
        loader.attempt.files.paths.append(path)
        return cls

    monkeypatch.setattr(loader_hooks.Attempt, "check_given", lambda *_: None)
    loader.from_pretrained(original, "Model", ("folder",), {})
    loader.from_pretrained(lambda cls, path: cls, "Model", ("folder",), {})
    assert rank.notes == [loader_hooks.NO_NAME, loader_hooks.NOT_AT_IT]
    assert zero_construction.CONSTRUCTION.drawn == {}
