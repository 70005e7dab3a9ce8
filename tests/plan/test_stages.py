"""What a stage of training, its optimizer and its data change in memory and in the number of steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from allranks.plan import make_plan
from allranks.plan.activations import _is_eager, _loss
from allranks.plan.setting import setting_of
from allranks.plan.traffic import planned_steps
from tests.plan.test_budget import GIB, LLAMA_8B, gib, small_run


def setting(**arguments: Any) -> Any:
    return setting_of(small_run(arguments))


@pytest.mark.parametrize(
    ("family", "arguments", "wanted"),
    [
        ("llama", {}, 12.0 * 1000),
        ("llama", {"enable_liger_kernel": True}, 4.0 * 64),
        ("qwen2_moe", {"enable_liger_kernel": True}, 12.0 * 1000),  # LLaMA-Factory has no kernels for it
        ("llama", {"enable_liger_kernel": True, "stage": "rm"}, 12.0 * 1000),  # the stage needs the logits
        ("llama", {"enable_liger_kernel": True, "stage": "dpo"}, 16.0 * 1000),  # and the reference model's
        ("llama", {"stage": "dpo", "pref_loss": "simpo"}, 12.0 * 1000),  # without a reference model
        ("llama", {"stage": "kto"}, 16.0 * 1000),
    ],
)
def test_the_bytes_of_a_token_at_the_loss(family: str, arguments: dict[str, Any], wanted: float) -> None:
    model: Any = SimpleNamespace(family=family, hidden=64, vocabulary=1000)
    assert _loss(model, setting(**arguments)) == wanted


def test_a_fix_that_the_stage_ignores_is_not_offered() -> None:
    long = {"cutoff_len": 8192, "per_device_train_batch_size": 4}
    for stage, offered in (("sft", True), ("dpo", False)):
        plan = make_plan(small_run({**long, "stage": stage}), LLAMA_8B)
        said = " ".join(
            f"{change['name']} {change['setting']}" for change in plan.as_json()["advice"]["fits"]
        )
        assert ("liger" in said.lower()) <= offered


def test_pairs_are_evaluated_as_pairs() -> None:
    evaluated = {"eval_strategy": "steps", "cutoff_len": 2048}
    one, pairs = (make_plan(small_run({**evaluated, "stage": stage}), LLAMA_8B) for stage in ("sft", "rm"))
    assert gib(pairs, "logits") == pytest.approx(2 * gib(one, "logits"), rel=0.01)


@pytest.mark.parametrize(
    ("family", "attention", "eager"),
    [
        ("gemma2", "auto", True),
        ("gemma2", "fa2", False),
        ("llama", "auto", False),
        ("llama", "disabled", True),
    ],
)
def test_gemma_2_keeps_its_scores_unless_flash_attention_is_asked_for(
    family: str, attention: str, eager: bool
) -> None:
    rules: Any = SimpleNamespace(
        setting=SimpleNamespace(attention=attention), model=SimpleNamespace(family=family)
    )
    assert _is_eager(rules) == eager


@pytest.mark.parametrize(
    ("arguments", "bytes_each"),
    [
        ({"bf16": True}, 16.0),  # float32 weights, gradients and two moments
        ({"bf16": False, "pure_bf16": True}, 8.0),
        ({"bf16": True, "optim": "paged_adamw_8bit"}, 10.0),
        ({"bf16": True, "optim": "sgd"}, 8.0),
    ],
)
def test_a_full_training_on_one_gpu_holds_what_its_optimizer_needs(
    arguments: dict[str, Any], bytes_each: float
) -> None:
    full = {"finetuning_type": "full", **arguments}
    plan = make_plan(small_run(full, gpus=1, deepspeed="none"), LLAMA_8B)
    parts = ("parameters", "gradients", "optimizer", "lora")
    held = sum(gib(plan, part) for part in parts)
    assert held == pytest.approx(bytes_each * plan.total_parameters / GIB, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "steps"),
    [
        ({"num_train_epochs": 1.5}, 5),  # 3 steps an epoch, rounded up
        ({"num_train_epochs": 1.5, "packing": True}, None),
        ({"num_train_epochs": 1.5, "neat_packing": True}, None),
        ({"num_train_epochs": 1.5, "stage": "pt"}, None),
        ({"num_train_epochs": 1.5, "stage": "pt", "packing": False}, 5),
        ({"max_steps": 7, "packing": True}, 7),
    ],
)
def test_the_steps_of_samples(arguments: dict[str, Any], steps: int | None) -> None:
    case: Any = SimpleNamespace(setting=setting(**arguments), ranks=8, samples=20)
    assert planned_steps(case)[0] == steps


def test_zero_keeps_float32_weights_and_moments_beside_pure_bf16() -> None:
    full = {"finetuning_type": "full", "bf16": False, "pure_bf16": True}
    plan = make_plan(small_run(full, deepspeed="zero3"), LLAMA_8B)
    assert gib(plan, "optimizer") == pytest.approx(12 * plan.total_parameters / 8 / GIB, rel=0.01)
