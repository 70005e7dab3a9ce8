"""What another number of ranks than in the run before means for batch and learning rate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from allranks.core import Finding
from allranks.plan.batch import Batch, advice, batch_from_json, batch_of, keeping
from allranks.runs import index
from allranks.runs.inspection import batch_changed
from allranks.spec import Run, loads


def run(nodes: int, name: str = "x", **arguments: Any) -> Run:
    written = {
        "model_name_or_path": "m",
        "per_device_train_batch_size": 2,
        "learning_rate": "1e-4",
        **arguments,
    }
    keys = {"name": name, "nodes": f"n[1-{nodes}]", "gpus": 8, "train": {"llamafactory": written}}
    return loads(json.dumps(keys))


def said(before: Run, now: Run) -> Finding | None:
    a, b = batch_of(before), batch_of(now)
    assert a is not None and b is not None
    return advice(now, b, a, "x-0101-aaaa")


def test_more_nodes_ask_for_less_accumulation_or_another_rate() -> None:
    found = said(run(1, gradient_accumulation_steps=8), run(4, gradient_accumulation_steps=8))
    assert found is not None and found.verdict == "note"
    assert "512 samples (32 ranks × 2 × 8)" in found.saw and "128 samples (8 ranks × 2 × 8)" in found.saw
    assert "gradient_accumulation_steps: 2 keeps 128 samples" in found.fix
    assert "learning_rate: 0.0002 (the square root" in found.fix and "Malladi et al. 2022" in found.fix


def test_sgd_scales_with_the_batch_and_others_have_no_rule() -> None:
    found = said(run(1, optim="sgd"), run(4, optim="sgd"))
    assert found is not None and "learning_rate: 0.0004" in found.fix and "Goyal" in found.fix
    assert "gradient_accumulation_steps" not in found.fix, "16 samples are less than a micro step of 32 ranks"
    other = said(run(1, optim="lion_32bit"), run(4, optim="lion_32bit"))
    assert other is not None and "learning_rate:" not in other.fix and "try two" in other.fix


def test_fewer_nodes_make_noisier_steps() -> None:
    found = said(run(4), run(1))
    assert found is not None and "noisier" in found.why
    assert "gradient_accumulation_steps: 4 keeps 64" in found.fix and "learning_rate: 5e-05" in found.fix


@pytest.mark.parametrize(
    "now",
    [run(1), run(2, per_device_train_batch_size=1), run(4, learning_rate=2e-4), run(4, learning_rate=0)],
    ids=["the same", "the same samples", "another rate already", "no rate"],
)
def test_where_nothing_is_to_be_said_nothing_is(now: Run) -> None:
    assert said(run(1), now) is None


def test_a_script_has_no_batch_that_is_known() -> None:
    assert batch_of(loads("nodes: n1\ntrain: {command: [train.py]}\n")) is None


def test_the_defaults_are_the_trainers() -> None:
    found = batch_of(loads("nodes: n1\ntrain: {llamafactory: {model_name_or_path: m}}\n"))
    assert found == Batch(1, 8, 1, 5e-5, "adamw_torch")


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ((8, 2, 8), (32, 2, 8), "gradient_accumulation_steps: 2 keeps 128 samples per step"),
        ((8, 2, 4), (32, 2, 4), "gradient_accumulation_steps: 1 keeps 64 samples per step"),
        ((8, 2, 1), (32, 2, 1), ""),
        ((24, 1, 1), (16, 1, 1), ""),
        ((1, 1, 4096), (1, 1, 1), "gradient_accumulation_steps: 4096 keeps 4,096 samples per step"),
    ],
)
def test_the_accumulation_that_keeps_a_steps_samples(before: Any, now: Any, said: str) -> None:
    """Ranks × samples of a rank × accumulation; nothing if no whole number keeps them."""
    one, other = (Batch(*sizes, 1e-4, "adamw_torch") for sizes in (now, before))
    assert keeping(one, other) == said


@pytest.mark.parametrize("data", [None, 3, {}, {"world_size": 0}, {"world_size": 1, "micro_batch": "2"}])
def test_what_is_no_batch_is_none(data: Any) -> None:
    assert batch_from_json(data) is None


def test_the_newest_run_of_the_name_is_compared_with(home: Path) -> None:
    assert batch_changed(run(4)) == []
    index.remember("x-0101-aaaa", run(1))
    index.remember("y-0101-bbbb", run(2, name="y"))
    (found,) = batch_changed(run(4))
    assert found.id == "batch-changed" and "in x-0101-aaaa it saw 16 samples" in found.saw
    index.remember("x-0102-cccc", run(4))
    assert batch_changed(run(4)) == []
