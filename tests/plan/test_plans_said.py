"""Whole plans, each figure of which is kept as text: `tests/plan/said`. What the figures mean, and that they are right,
is tested elsewhere; here a change of a formula, a table or a sentence shows which figures it moves.

`ALLRANKS_GOLDEN=write pytest tests/plan/test_plans_said.py` writes them again.
"""

from __future__ import annotations

import dataclasses
import json
import pkgutil
from pathlib import Path
from typing import Any

import pytest

from allranks.core import facts_from_json
from allranks.plan import families, make_plan
from allranks.plan.model import UnknownModel
from allranks.spec import loads
from tests import said
from tests.checks.recorded_clusters import CLUSTERS, cluster
from tests.plan.published import LLAMA_8B, V3
from tests.plan.test_forty_families import CONFIGS
from tests.plan.test_make_plan import TINY
from tests.plan.test_never_a_false_fits import PROBE

DESCRIBED = [one.name for one in pkgutil.iter_modules(families.__path__) if not one.name.startswith("_")]
SAID = Path(__file__).parent / "said"
MODELS: dict[str, dict[str, Any]] = {
    **{name: {"model_type": name, **config} for name, config in CONFIGS.items()},
    **{f"{name} by default": {"model_type": name} for name in DESCRIBED},
}
TRAIN = {"model_name_or_path": "/m", "lora_target": "all", "lora_rank": 8, "max_steps": 100, "bf16": True}
A100 = "gpus: {count: 8, model: A100-SXM4-80GB}"
OWN = f"{A100}\ndeepspeed: ds.json"
ZERO2 = {"zero_optimization": {"stage": 2, "allgather_bucket_size": 200_000_000}, "bf16": {"enabled": True}}
HPZ = {"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}, "gradient_accumulation_steps": 3}


@dataclasses.dataclass(frozen=True)
class Case:
    """A plan's model, what its trainer is told beside TRAIN, other keys of its run file, and what is known besides."""

    config: dict[str, Any] = dataclasses.field(default_factory=lambda: LLAMA_8B)
    trainer: dict[str, Any] = dataclasses.field(default_factory=dict)
    keys: str = A100
    nodes: str = "node[1-3]"
    given: dict[str, Any] = dataclasses.field(default_factory=dict)


SETTINGS = {
    "usual": Case(given={"price": 2.0, "dataset_samples": 90_000}),
    "batch": Case(
        trainer={
            "per_device_train_batch_size": 4,
            "gradient_accumulation_steps": 8,
            "cutoff_len": 4096,
            "learning_rate": "1e-5",
        },
        given={"probe": PROBE},
    ),
    "epochs": Case(
        trainer={"num_train_epochs": 2, "max_steps": -1, "warmup_ratio": 0.1}, given={"dataset_samples": 999}
    ),
    "more modules": Case(
        trainer={
            "additional_target": "embed_tokens,lm_head",
            "use_rslora": True,
            "enable_liger_kernel": True,
        },
        keys="gpus: {count: 4, model: H100}\nnetwork: {fabric: ib}",
    ),
    "dora": Case(trainer={"use_dora": True}, keys="gpus: {count: 4, model: A30}\nnetwork: {fabric: roce}"),
    "eight bits": Case(
        trainer={"quantization_bit": 8, "flash_attn": "fa2"}, keys="gpus: {count: 1, model: V100-SXM2-16GB}"
    ),
    "four bits": Case(
        trainer={"quantization_bit": 4, "fp16": True, "bf16": False},
        keys="gpus: {count: 2, model: T4}\ndeepspeed: none",
    ),
    "full": Case(
        trainer={"finetuning_type": "full", "optim": "adafactor", "eval_strategy": "steps"},
        keys=f"{A100}\ndeepspeed: zero3-offload",
    ),
    "full sgd": Case(
        trainer={"finetuning_type": "full", "optim": "sgd", "do_eval": True},
        keys="gpus: {count: 8, model: H200}\nnetwork: {fabric: roce}",
    ),
    "freeze": Case(
        trainer={
            "finetuning_type": "freeze",
            "freeze_trainable_layers": 3,
            "freeze_extra_modules": "lm_head",
        },
        keys="gpus: {count: 8, model: L40S}",
    ),
    "kept activations": Case(
        trainer={
            "disable_gradient_checkpointing": True,
            "flash_attn": "disabled",
            "per_device_train_batch_size": 2,
        }
    ),
    "preferences": Case(trainer={"stage": "dpo", "pref_loss": "sigmoid", "use_reentrant_gc": False}),
    "reward": Case(trainer={"stage": "rm", "optim": "adamw_8bit"}),
    "ZeRO-2 of ones own": Case(keys=OWN, given={"deepspeed": ZERO2}),
    "hpZ": Case(keys=OWN, given={"deepspeed": HPZ}),
    "experts": Case(TINY, {"lora_target": "q_a_proj,o_proj,down_proj"}, f"{A100}\nnetwork: {{fabric: ib}}"),
    "experts kept": Case(TINY, {"disable_gradient_checkpointing": True, "cutoff_len": 512}),
    "large experts": Case(V3, {"lora_target": "q_a_proj,o_proj"}, given={"price": 1.5}),
    "processors": Case(TINY, {"bf16": False, "use_cpu": True}, ""),
    "unknown": Case({"model_type": "nobody_knows"}),
    "what the trainer takes by itself": Case(trainer=dict.fromkeys(TRAIN)),
    "one node": Case(nodes="node1", given={"dataset_samples": 10_000, "price": 3.0}),
    "one GPU": Case(nodes="node1", keys="gpus: {count: 1, model: H100}"),
    "two nodes": Case(V3, {"lora_target": "all"}, f"{A100}\nnetwork: {{fabric: tcp}}", "node[1-2]"),
    "parameters of experts": Case(
        TINY, {"lora_target": "o_proj", "lora_parameters": "mlp.experts.gate_up_proj,mlp.experts.down_proj"}
    ),
    "a rank for more than attention": Case(TINY, {"lora_target": "all", "lora_rank": 64, "lora_alpha": 16}),
}


def figures(plan: Any) -> list[str]:
    """All of a plan but its digest, which holds the versions, and what is alike: ranks of a node, layers."""
    data = plan.as_json()
    data.pop("digest")
    if data["model"]:
        data["model"]["parameters_per_layer"] = sorted(set(data["model"]["parameters_per_layer"]))
    data["ranks"] = [rank for rank in data["ranks"] if not rank["local_rank"]]
    return list(said.flat(data))


def kept(name: str, lines: list[str]) -> None:
    said.hold(SAID / f"{name.replace(' ', '-')}.txt", lines)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_figures_of_a_plan(name: str) -> None:
    case = SETTINGS[name]
    trainer = {name: value for name, value in {**TRAIN, **case.trainer}.items() if value is not None}
    trainer = json.dumps({**trainer, "model_name_or_path": "/m"})
    run = loads(f"nodes: {case.nodes}\n{case.keys}\ntrain: {{llamafactory: {trainer}}}\n", "r.yaml")
    kept(name, figures(make_plan(run, case.config, **case.given)))


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_figures_of_a_recorded_clusters_plan(name: str) -> None:
    found = cluster(name)
    facts = {one["node"]: facts_from_json(one) for one in found.nodes.values()}
    configs = [one.get("storage.model.config") for one in facts.values()]
    plan = make_plan(found.run, next((one for one in configs if one), None), facts, deepspeed=found.deepspeed)
    kept(f"recorded {name}", figures(plan))


def test_the_parameters_of_each_family() -> None:
    lines = []
    for name, config in MODELS.items():
        try:
            model = families.describe(config)
        except UnknownModel:  # another family, which transformers describes
            continue
        about = {
            one.name: getattr(model, one.name) for one in dataclasses.fields(model) if one.name != "modules"
        }
        lines.append(f"{name}: {model.total_parameters:,}, active {model.active_parameters:,}, {about}")
        for module in {one.leaf: one for one in model.modules}.values():
            lines.append(f"{name}: {module.name} {module.kind} {module.parameters}")
    kept("families", lines)
