"""The replayed coordinator against bytes counted in real DeepSpeed runs (`data/gathered.json`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allranks.plan.families import describe
from allranks.plan.gather import NON_REENTRANT, NONE, REENTRANT, replay
from allranks.plan.lora import Lora, trained_by_lora
from allranks.plan.steps import steps_of
from allranks.plan.zero import Zero

RECORDED = json.loads((Path(__file__).parent / "data" / "gathered.json").read_text())
RUNS = RECORDED["runs"]


def planned(run: dict):
    wanted = RECORDED["models"][run["model"]]
    model = describe(wanted["config"])
    trained = trained_by_lora(model, Lora(rank=8, targets=tuple(wanted["targets"])))
    newer = run["deepspeed"] != "0.18.9"
    steps = steps_of(
        model,
        trained,
        run["persistence_threshold"],
        True,
        leaf_experts=run["leaf"],
        widths=(2, 4 if newer else 2),
    )
    zero = Zero(
        stage=3,
        prefetch_bucket=run["prefetch_bucket"],
        max_reuse=run["max_reuse"],
        max_live=run["max_live"],
        sequential=run["sequential"],
    )
    return replay(steps, zero, 2, run["checkpointing"], holds_recomputed=newer)


def named(run: dict) -> str:
    kind = "leaf" if run["leaf"] else "single"
    sizes = f"{run['prefetch_bucket']}-{run['max_reuse']}-{run['max_live']}-{run['persistence_threshold']}"
    return f"{run['deepspeed']}-{run['model']}-{kind}-{run['checkpointing']}-{sizes}-{run['sequential']}"


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_bytes_of_a_micro_step(run: dict) -> None:
    assert planned(run).received == run["micro_step_bytes"]


def test_persistent_tensors_are_gathered_once_after_the_optimizer() -> None:
    for run in RUNS:
        if "step_bytes" in run:
            assert planned(run).persistent == run["step_bytes"] - run["micro_step_bytes"]


def test_reentrant_checkpointing_of_a_frozen_base_holds_every_layer_since_0_19_3() -> None:
    """Seen in a real run of this model with 8 layers: 1,378,304 of 1,476,736 parameters whole at the end of
    backward, against 198,784 with the non-reentrant kind."""
    config = {**RECORDED["models"]["llama"]["config"], "num_hidden_layers": 8}
    model = describe(config)
    trained = trained_by_lora(model, Lora(rank=8, targets=("q_proj", "v_proj")))
    steps = steps_of(model, trained, 3000, True)
    zero = Zero(stage=3, prefetch_bucket=0, max_reuse=0, max_live=10**8)
    layer = model.parameters_per_layer[0] - 2 * 128
    assert replay(steps, zero, 2, REENTRANT, True).peak == 2 * (8 * layer + 512 * 128)
    assert replay(steps, zero, 2, NON_REENTRANT, True).peak == 2 * layer
    assert replay(steps, zero, 2, REENTRANT, False).peak == 2 * 512 * 128
    assert replay(steps, zero, 2, NONE, True).peak == 2 * 512 * 128
