"""Models that transformers describes (`described.py`), read and planned: each figure is kept in `tests/plan/said`. That
they are transformers', PEFT's and torch's is the matter of test_meta_device, test_vision_models and test_vision_memory.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from allranks.plan import families, make_plan, meta_device
from allranks.plan.gather import NON_REENTRANT, NONE, REENTRANT, replay
from allranks.plan.lora import ALL_LINEAR, Lora, trained_by_lora
from allranks.plan.model import Model, UnknownModel
from allranks.plan.setting import setting_of
from allranks.plan.steps import steps_of
from allranks.plan.trainable import trained_by
from allranks.plan.vision_tower import images_of, tower_of
from allranks.plan.zero import Zero
from tests import said
from tests.plan import described
from tests.plan.test_make_plan import TINY
from tests.plan.test_plans_said import figures, kept
from tests.plan.test_vision_memory import CONFIGS as COUNTED
from tests.plan.test_vision_memory import SETTINGS
from tests.plan.test_vision_models import CASES, a_run

ANSWERS: dict[str, Any] = json.loads(described.FILE.read_text())
SEEING = [name for name, answer in ANSWERS.items() if answer["decoder"]]
TOWERS: dict[str, dict[str, Any]] = {
    **SETTINGS,
    "frozen, not checkpointed": {"disable_gradient_checkpointing": True},
    "the tower, full": {"finetuning_type": "full", "freeze_vision_tower": False},
    "the projector too": {"freeze_multi_modal_projector": False},
    "two rows": {"per_device_train_batch_size": 2, "cutoff_len": 1024},
    "all scores": {"flash_attn": "disabled"},
    "float32": {"bf16": False},
    "eight bits": {"quantization_bit": 8},
}


def read(name: str) -> Model:
    return meta_device.model_of(ANSWERS[name])


@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_description_is_read_as(name: str) -> None:
    model = read(name)
    lines = [f"{name}: {model.total_parameters:,}, active {model.active_parameters:,}"]
    left = ("modules", "by_layer")
    about = {one.name: getattr(model, one.name) for one in dataclasses.fields(model) if one.name not in left}
    lines.append(f"{name}: {about}")
    lines.append(f"{name}: per layer {model.parameters_per_layer}, vision {model.vision_parameters}")
    for module in model.modules:
        about = (module.kind, module.layer, module.expert, module.shared, module.parameters)
        lines.append(f"{name}: {module.name} {about}")
    lines += [f"{name}: {one}" for one in sorted(model.containers())]
    kept("described models", lines)


@pytest.mark.parametrize("name", SEEING)
def test_what_trains_of_a_model_that_sees(name: str) -> None:
    model, lines = read(name), []
    for case, arguments in {
        **CASES,
        "layers": {"finetuning_type": "freeze", "freeze_trainable_layers": 9},
    }.items():
        run = a_run(**arguments)
        findings: list[Any] = []
        trained = trained_by(model, setting_of(run), run, findings)
        lines += [f"{name}, {case}: {trained and (trained.parameters, len(trained.matched))}"]
        lines += [f"{name}, {case}: {line}" for line in said.lines(findings)]
    kept("described models train", lines)


@pytest.mark.parametrize("name", SEEING)
def test_the_memory_of_a_tower(name: str) -> None:
    model, lines = read(name), []
    for case, arguments in TOWERS.items():
        run = a_run(**{"cutoff_len": 512, **arguments})
        setting = setting_of(run)
        for zero3 in (False, True):
            tower = tower_of(model, trained_by(model, setting, run, []), setting, zero3)
            lines.append(f"{name}, {case}, {zero3}: {tower and (tower.kept, tower.added)}")
    kept("towers", lines)


@pytest.mark.parametrize("missing", ["patch_size", "spatial_merge_size", "image_size", "mm_tokens_per_image"])
def test_images_of_a_configuration_without_a_value_are_not_counted(missing: str) -> None:
    """A family needs what its own tower is computed from, and nothing else."""
    lines = []
    for name in COUNTED:
        images = json.loads(json.dumps(ANSWERS[name]["images"]))
        images.pop(missing, None)
        images["vision"].pop(missing, None)
        lines.append(f"{name} without {missing}: {images_of(name, images)}")
    kept("images", lines)


@pytest.mark.parametrize("name", ["qwen2_5_vl", described.NOT_COUNTED, "olmoe"])
def test_the_figures_of_a_plan(name: str) -> None:
    for cutoff in (2048, 4_000_000):
        run = a_run(cutoff_len=cutoff, enable_liger_kernel=True)
        config = described.configs()[name]
        kept(
            f"described {name}",
            [f"{cutoff}: {one}" for one in figures(make_plan(run, config, described=ANSWERS[name]))],
        )


@pytest.mark.parametrize("key", ["modules", "config", "family"])
def test_a_description_that_is_not_whole_is_refused(key: str) -> None:
    answer = {name: value for name, value in ANSWERS["olmo2"].items() if name != key}
    with pytest.raises(UnknownModel, match="is not whole"):
        meta_device.model_of(answer)


@pytest.mark.training
def test_transformers_still_says_the_same() -> None:
    assert described.now() == ANSWERS


# ---- what a step gathers ----

ZEROS = {
    "usual": Zero(stage=3, prefetch_bucket=20_000, max_reuse=40_000, max_live=100_000),
    "nothing ahead": Zero(stage=3, prefetch_bucket=0, max_reuse=0, max_live=10**9),
    "little": Zero(stage=3, prefetch_bucket=5_000, max_reuse=3_000, max_live=9_000),
    "one by one": Zero(stage=3, prefetch_bucket=20_000, max_reuse=10_000, max_live=10**9, sequential=True),
}


@pytest.mark.parametrize("case", ["one tensor", "lockstep", "sees", "base"])
def test_what_a_step_gathers(case: str) -> None:
    """Experts in one tensor, in lockstep, a tower before the layers, and a base that trains without adapters."""
    if case == "sees":
        model, words = read("qwen2_5_vl"), {"adapters": True}
    elif case == "lockstep":
        model = families.describe(TINY, False)
        words = {"adapters": True, "at_once": 3}
    else:
        model, words = families.describe(TINY, True), {"adapters": case != "base"}
    trained = trained_by_lora(model, Lora(rank=4, targets=ALL_LINEAR)) if case != "base" else None
    steps = steps_of(model, trained, 600, **words)
    lines = [f"{case}: {one}" for one in sorted({str(param) for param in steps.params})]
    for name, zero in ZEROS.items():
        for checkpointing in (NONE, REENTRANT, NON_REENTRANT):
            for holds in (False, True):
                found = replay(steps, zero, 3, checkpointing, holds)
                lines.append(f"{case}, {name}, {checkpointing}, {holds}: {dataclasses.astuple(found)}")
    kept("gathers", lines)
