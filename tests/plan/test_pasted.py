"""What is printed for a run that does not fit is pasted as it stands, read and planned again: then it fits."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from allranks import spec
from allranks.plan import Plan, make_plan
from allranks.plan.memory import DOES_NOT_FIT, FITS, TOO_CLOSE
from tests.plan.published import LLAMA_8B, V3

pytestmark = pytest.mark.lengthy

LLAMA_70B = {**LLAMA_8B, "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80}
MIXTRAL = {**LLAMA_8B, "model_type": "mixtral", "vocab_size": 32000}
TARGETS = {"deepseek_v3": "q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj"}


def a_file(folder: Path, config: dict, nodes: int, gpus: str, deepspeed: str, arguments: dict) -> Path:
    given = {
        "model_name_or_path": "/nfs/model",
        "lora_target": TARGETS.get(config["model_type"], "q_proj,v_proj"),
        "per_device_train_batch_size": 1,
        "bf16": True,
        **arguments,
    }
    text: dict[str, Any] = {
        "nodes": [{"name": f"node-{i}", "address": f"10.0.0.{i + 1}"} for i in range(nodes)],
        "gpus": {"count": 8, "model": gpus},
        "train": {"llamafactory": given},
        "deepspeed": deepspeed,
    }
    if config["model_type"] in ("deepseek_v3", "mixtral"):
        text["container"] = {"image": "x", "pip": ["transformers==4.52.4"]}
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(text))
    return path


def planned(path: Path, config: dict) -> Plan:
    run = spec.load(str(path))
    own = json.loads(Path(run.deepspeed).read_text()) if run.deepspeed.endswith(".json") else None
    return make_plan(run, config, deepspeed=own)


def paste(path: Path, setting: str) -> None:
    """As a person would: node lines under `nodes`, DeepSpeed's into its file, the trainer's under the trainer."""
    text = yaml.safe_load(path.read_text())
    for line in setting.splitlines():
        value = yaml.safe_load(line)
        if isinstance(value, list):
            text["nodes"] += value
        elif "zero_optimization" in value:
            own = path.parent / "own.json"
            config = json.loads(own.read_text())
            config["zero_optimization"] |= value["zero_optimization"]
            own.write_text(json.dumps(config))
        elif "deepspeed" in value:
            text |= value
        elif "experts" in value:
            text["train"] |= value
        else:
            text["train"]["llamafactory"] |= value
    path.write_text(yaml.safe_dump(text))


CASES = [
    (V3, 3, "A100-SXM4-80GB", "auto", {}),
    (V3, 3, "A100-SXM4-80GB", "zero3", {}),
    (V3, 2, "A100-SXM4-80GB", "auto", {"lora_rank": 64}),
    (V3, 4, "A100-SXM4-80GB", "own.json", {}),
    (LLAMA_70B, 1, "A100-SXM4-40GB", "auto", {"cutoff_len": 32768}),
    (LLAMA_70B, 1, "A100-SXM4-80GB", "none", {}),
    (LLAMA_70B, 1, "A100-SXM4-80GB", "auto", {"finetuning_type": "full"}),
    (LLAMA_70B, 1, "A100-SXM4-80GB", "auto", {"quantization_bit": 4, "cutoff_len": 65536}),
    (LLAMA_70B, 1, "A10G", "auto", {"use_reentrant_gc": True}),
    (LLAMA_8B, 1, "T4", "none", {}),
    (LLAMA_8B, 1, "A10G", "auto", {"disable_gradient_checkpointing": True, "cutoff_len": 8192}),
    (LLAMA_8B, 1, "A10G", "auto", {"disable_gradient_checkpointing": True, "use_reentrant_gc": True}),
    (LLAMA_8B, 1, "L4", "auto", {"do_eval": True}),
    (LLAMA_8B, 1, "A10G", "auto", {"per_device_train_batch_size": 16, "stage": "dpo"}),
    (MIXTRAL, 1, "A100-SXM4-40GB", "none", {}),
    (MIXTRAL, 1, "A10G", "zero3", {"cutoff_len": 8192, "per_device_train_batch_size": 4}),
]


@pytest.mark.parametrize(
    ("config", "nodes", "gpus", "deepspeed", "arguments"),
    CASES,
    ids=[f"{case[0]['model_type']}-{place}" for place, case in enumerate(CASES)],
)
def test_each_printed_setting_fits_once_it_is_pasted(
    tmp_path: Path, config: dict, nodes: int, gpus: str, deepspeed: str, arguments: dict
) -> None:
    own = tmp_path / "own.json"
    path = a_file(tmp_path, config, nodes, gpus, deepspeed, arguments)
    before = {"zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": 5e8}}
    own.write_text(json.dumps(before))
    written = path.read_text()
    plan = planned(path, config)
    assert plan.memory is not None and plan.memory["verdict"] in (TOO_CLOSE, DOES_NOT_FIT)
    assert plan.advice["fits"], "nothing was found that fits"
    for row in plan.advice["fits"]:
        paste(path, row["setting"])
        again = planned(path, config)
        assert again.memory is not None and again.memory["verdict"] == FITS, row
        path.write_text(written)
        own.write_text(json.dumps(before))


def test_where_the_hosts_are_in_doubt_the_doubt_is_said_with_it(tmp_path: Path) -> None:
    """transformers 5 joins DeepSeek-V3's experts on every rank: no node is known to have 10 TB."""
    path = a_file(tmp_path, V3, 1, "A100-SXM4-80GB", "zero3", {"per_device_train_batch_size": 8})
    path.write_text(path.read_text().replace("transformers==4.52.4", "transformers==5.6.0"))
    plan = planned(path, V3)
    both, nodes = plan.advice["fits"]
    assert "deepspeed: auto" in both["setting"] and "a node has 9,768 GiB" in both["cost"]
    written = path.read_text()
    found = []
    for row in (both, nodes):
        paste(path, row["setting"])
        again = planned(path, V3)
        assert again.memory is not None and again.memory["verdict"] is None
        assert again.memory["gpu_bytes"]["total"] <= 0.92 * again.memory["gpu_usable_bytes"]
        found.append(again.world_size)
        path.write_text(written)
    assert found[0] < found[1] / 4, "settings come before machines"


def test_where_nothing_helps_it_is_said(tmp_path: Path) -> None:
    arguments = {"finetuning_type": "full", "cutoff_len": 512}
    text = a_file(tmp_path, V3, 1, "T4", "none", arguments)
    plan = planned(text, V3)
    assert plan.memory is not None and plan.memory["verdict"] == DOES_NOT_FIT
    (finding,) = [f for f in plan.findings if f.id == "memory-does-not-fit"]
    assert plan.advice["fits"] or "no setting makes it fit" in finding.fix


@pytest.mark.parametrize(
    ("gpus", "batch", "cutoff"), list(itertools.product(("A10G", "A100-40GB", "H200"), (1, 8), (512, 8192)))
)
def test_fits_is_never_said_above_92_percent(tmp_path: Path, gpus: str, batch: int, cutoff: int) -> None:
    for deepspeed in ("none", "zero3", "auto", "zero3-offload"):
        arguments = {"per_device_train_batch_size": batch, "cutoff_len": cutoff}
        memory = planned(a_file(tmp_path, LLAMA_8B, 1, gpus, deepspeed, arguments), LLAMA_8B).memory
        assert memory is not None
        full = memory["gpu_bytes"]["total"] / memory["gpu_usable_bytes"]
        expected = FITS if full <= 0.92 else TOO_CLOSE if full <= 1.05 else DOES_NOT_FIT
        assert memory["verdict"] == expected
        assert memory["gpu_margin_bytes"] == memory["gpu_usable_bytes"] - memory["gpu_bytes"]["total"]
