"""Families that are not described here: the training environment describes them, the plan reads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from allranks.core import Cluster, Node
from allranks.plan import families, make_plan, meta_device
from allranks.plan.lora import ALL_LINEAR, Lora, trained_by_lora
from allranks.plan.model import UnknownModel
from allranks.spec import Gpus, Run, Train

SMALL: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 320,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
}
OTHERS: dict[str, dict[str, Any]] = {
    "olmo2": SMALL,
    "granite": {**SMALL, "tie_word_embeddings": True},
    "starcoder2": SMALL,
    "stablelm": SMALL,
    "olmoe": {**SMALL, "num_experts": 4, "num_experts_per_tok": 2},
    "gpt_neox": {key: value for key, value in SMALL.items() if key != "num_key_value_heads"},
    "gpt2": {"n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 320, "n_positions": 128},
}


def a_run(targets: str) -> Run:
    train = Train("llamafactory", {"lora_target": targets, "bf16": True, "per_device_train_batch_size": 1})
    return Run("x", Cluster((Node("a", "10.0.0.1", 0, 8),)), train, gpus=Gpus(8, "A100-SXM4-80GB"))


@pytest.mark.training
@pytest.mark.parametrize("name", sorted(OTHERS))
def test_totals_and_what_trains(name: str) -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import peft
    import torch
    import transformers

    config = {"model_type": name, **OTHERS[name]}
    with pytest.raises(UnknownModel):
        families.find(name)
    answer = json.loads(json.dumps(meta_device.describe(config)))
    model = meta_device.model_of(answer)
    with torch.device("meta"):
        made = transformers.AutoConfig.for_model(name, **OTHERS[name])
        real = transformers.AutoModelForCausalLM.from_config(made)
        assert model.total_parameters == sum(p.numel() for p in real.parameters())
        adapted = peft.get_peft_model(
            real,
            peft.LoraConfig(
                task_type="CAUSAL_LM", r=8, target_modules="all-linear", fan_in_fan_out=name == "gpt2"
            ),
        )
    ours = trained_by_lora(model, Lora(rank=8, targets=ALL_LINEAR))
    assert ours.parameters == sum(p.numel() for p in adapted.parameters() if p.requires_grad)
    plan = make_plan(a_run("all"), config, described=answer)
    assert plan.total_parameters == model.total_parameters and plan.memory is not None
    assert plan.memory["verdict"] == "fits" and plan.traffic["received_bytes_per_step"] > 0


@pytest.mark.training
def test_the_program_prints_one_document(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "olmo2", **SMALL}))
    done = subprocess.run(
        [sys.executable, meta_device.__file__, str(path)], capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0 and json.loads(done.stdout)["family"] == "olmo2"
    path.write_text('{"model_type": "no_such"}')
    bad = subprocess.run(
        [sys.executable, meta_device.__file__, str(path)], capture_output=True, text=True, timeout=500
    )
    assert bad.returncode == 1 and "no_such" in json.loads(bad.stdout)["error"]


def test_a_description_that_breaks_off_is_no_model() -> None:
    for answer in ({}, {"family": "x", "modules": [{}], "config": {}}, {"error": "x"}):
        with pytest.raises(UnknownModel):
            meta_device.model_of(answer)
    plan = make_plan(a_run("all"), {"model_type": "olmo2"}, described={"error": "no"})
    assert plan.total_parameters is None and plan.findings[0].id == "model-config-unreadable"
