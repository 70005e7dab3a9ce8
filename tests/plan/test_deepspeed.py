"""DeepSpeed's JSON: the guide's two files from our profiles, reasons, void keys, contradictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from allranks.core import BLOCK, WARN, Cluster, Node
from allranks.plan import make_plan
from allranks.plan.deepspeed_keys import ZERO_KEYS, void_keys
from allranks.plan.versions import Versions
from allranks.plan.zero import zero_of
from allranks.spec import Gpus, Run, Train

DATA = Path(__file__).parent / "data"
CONFIG = {
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 4,
    "num_attention_heads": 16,
    "vocab_size": 32000,
}
COMMAND = {
    "lora_target": "q_proj,v_proj",
    "per_device_train_batch_size": 1,
    "gradient_accumulation_steps": 1,
    "learning_rate": 1e-5,
    "adam_beta2": 0.98,
    "weight_decay": 0.01,
    "warmup_steps": 100,
    "max_steps": 2000,
    "bf16": True,
}
"""The guide's own command line."""


def a_run(deepspeed: str, arguments: dict | None = None, **changes) -> Run:
    nodes = Cluster(tuple(Node(f"n{i}", f"10.0.0.{i + 1}", i, 8) for i in range(3)))
    train = Train("llamafactory", {**COMMAND, **(arguments or {})})
    values = {
        "cluster": nodes,
        "train": train,
        "gpus": Gpus(8, "A100-SXM4-80GB"),
        "deepspeed": deepspeed,
        **changes,
    }
    return Run("x", **values)


def flat(config: dict, prefix: str = "") -> dict[str, Any]:
    found = {}
    for key, value in config.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found


def filled(key: str) -> Any:
    """What transformers fills in for `auto`, from the guide's command."""
    return {
        "optimizer.params.lr": 1e-5,
        "optimizer.params.betas": [0.9, 0.98],
        "optimizer.params.eps": 1e-8,
        "optimizer.params.weight_decay": 0.01,
        "scheduler.params.warmup_min_lr": 0,
        "scheduler.params.warmup_max_lr": 1e-5,
        "scheduler.params.warmup_num_steps": 100,
        "scheduler.params.total_num_steps": 2000,
        "train_micro_batch_size_per_gpu": 1,
        "gradient_clipping": 1.0,
        "bf16.enabled": True,
    }.get(key)


def read(name: str) -> dict:
    return json.loads((DATA / name).read_text())


def test_the_guides_offload_file_comes_from_its_profile() -> None:
    guide = read("guide-offload.json")
    void = void_keys(guide)
    assert set(void) == {"activation_checkpointing"} and all(void.values())
    ours = make_plan(a_run("zero3-offload"), CONFIG).deepspeed
    assert flat(ours) == {key: value for key, value in flat(guide).items() if key.split(".")[0] not in void}


def test_a_run_without_warm_up_leaves_the_schedule_to_transformers() -> None:
    """DeepSpeed 0.19.8: `warmup_num_steps must be a positive integer, got 0`."""
    config = make_plan(a_run("zero3", {"warmup_steps": 0}), CONFIG).deepspeed
    assert config["optimizer"]["type"] == "AdamW" and "scheduler" not in config
    for asked in ({"warmup_steps": 3}, {"warmup_steps": 0, "warmup_ratio": 0.1}):
        assert make_plan(a_run("zero3", asked), CONFIG).deepspeed["scheduler"]["type"] == "WarmupDecayLR"


def test_stage3_keys_without_their_prefix_are_read_as_deepspeed_reads_them() -> None:
    bare = {
        "stage": 3,
        "prefetch_bucket_size": 7,
        "max_live_parameters": "auto",
        "allgather_sequential": True,
    }
    read = zero_of({"zero_optimization": bare}, 64)
    assert (read.prefetch_bucket, read.max_live, read.sequential) == (7, 1_000_000_000, True)
    both = zero_of({"zero_optimization": {**bare, "stage3_prefetch_bucket_size": "auto"}}, 64)
    assert both.prefetch_bucket == int(0.9 * 64 * 64), "the prefixed key counts, and transformers fills it"
    auto = zero_of({"zero_optimization": {"stage": 3, "prefetch_bucket_size": "auto"}}, 64)
    assert auto.prefetch_bucket == 50_000_000, (
        "transformers does not know this name, and DeepSpeed leaves it out"
    )


def test_the_guides_other_file_comes_from_its_profile() -> None:
    """`auto` stands for what transformers fills in. The guide's accumulation of 16 contradicts its own command, and
    its timing of every part is for looking, not for training."""
    guide = read("guide-zero3.json")
    void = void_keys(guide)
    assert set(void) == {"activation_checkpointing", "moe"}
    ours = flat(make_plan(a_run("zero3"), CONFIG).deepspeed)
    theirs = {key: value for key, value in flat(guide).items() if key.split(".")[0] not in void}
    assert set(ours) == set(theirs)
    apart = {key for key in theirs if ours[key] != theirs[key] and filled(key) != theirs[key]}
    assert apart == {"gradient_accumulation_steps", "wall_clock_breakdown"}


def test_the_guides_contradiction_is_found() -> None:
    plan = make_plan(a_run("/guide.json"), CONFIG, deepspeed=read("guide-zero3.json"))
    (finding,) = [f for f in plan.findings if f.id == "deepspeed-contradicts"]
    assert finding.verdict == BLOCK
    assert "gradient_accumulation_steps 16 against gradient_accumulation_steps 1" in finding.saw
    assert finding.fix == '"gradient_accumulation_steps": "auto"'
    void = [f for f in plan.findings if f.id == "deepspeed-key-void"]
    assert [f.verdict for f in void] == [WARN, WARN] and "deepspeed.moe" in "".join(f.why for f in void)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("train_micro_batch_size_per_gpu", 4),
        ("train_batch_size", 23),
        ("gradient_clipping", 0.5),
        ("optimizer.params.lr", 2e-5),
        ("optimizer.params.betas", [0.9, 0.999]),
        ("scheduler.params.total_num_steps", 1000),
        ("scheduler.params.warmup_num_steps", 10),
        ("bf16.enabled", False),
        ("fp16.enabled", True),
    ],
)
def test_each_value_that_transformers_compares(key: str, value: Any) -> None:
    config: dict = {"zero_optimization": {"stage": 3}}
    place = config
    *sections, last = key.split(".")
    for section in sections:
        place = place.setdefault(section, {})
    place[last] = value
    blocked = make_plan(a_run("/own.json"), CONFIG, deepspeed=config)
    assert [f.id for f in blocked.findings if f.verdict == BLOCK] == ["deepspeed-contradicts"]
    place[last] = "auto"
    fine = make_plan(a_run("/own.json"), CONFIG, deepspeed=config)
    assert not [f for f in fine.findings if f.verdict == BLOCK]


def test_a_misspelt_zero_key_is_named_with_the_nearest() -> None:
    config = {"zero_optimization": {"stage": 3, "stage3_max_live_parameter": 1}}
    plan = make_plan(a_run("/own.json"), CONFIG, deepspeed=config)
    (finding,) = [f for f in plan.findings if f.id == "deepspeed-key-unknown"]
    assert finding.fix == "stage3_max_live_parameters"


@pytest.mark.training
def test_the_known_zero_keys_are_deepspeeds_own() -> None:
    from deepspeed.runtime.zero.config import DeepSpeedZeroConfig

    names = set()
    for name, field in DeepSpeedZeroConfig.model_fields.items():
        names |= {name, *([field.alias] if field.alias else [])}
    assert names <= ZERO_KEYS | {"mics_shard_size", "mics_hierarchical_params_gather"}
    for key in ("moe", "pipeline_parallel"):
        assert key not in names


@pytest.mark.training
@pytest.mark.parametrize("profile", ["auto", "zero3", "zero3-offload"])
def test_deepspeed_and_transformers_take_what_we_write(profile: str, tmp_path: Path) -> None:
    """transformers fills and compares; DeepSpeed reads the rest."""
    from deepspeed.runtime.config import DeepSpeedConfig
    from transformers import TrainingArguments

    config = make_plan(a_run(profile, {"use_cpu": True}), CONFIG).deepspeed
    path = tmp_path / "ds.json"
    path.write_text(json.dumps(config))
    given = {key: value for key, value in COMMAND.items() if key != "lora_target"}
    arguments = TrainingArguments(output_dir=str(tmp_path), deepspeed=str(path), use_cpu=True, **given)
    made = arguments.hf_deepspeed_config
    assert made.is_zero3() and made.get_value("train_micro_batch_size_per_gpu") == 1
    assert made.get_value("bf16.enabled") is True
    whole = json.loads(json.dumps(made.config).replace('"auto"', "1"))
    assert DeepSpeedConfig(whole).zero_config.stage == 3
    arguments.hf_deepspeed_config = None


def test_auto_follows_the_model() -> None:
    zero = make_plan(a_run("auto"), CONFIG).deepspeed["zero_optimization"]
    assert (
        zero["reduce_bucket_size"] == 1_000_000
    )  # 131,072 train: a larger bucket would be memory for nothing
    layer = 4 * 2048 * 2048 + 3 * 2048 * 5632 + 2 * 2048
    assert zero["stage3_prefetch_bucket_size"] == layer
    assert zero["stage3_param_persistence_threshold"] > 8 * 2048, "every adapter tensor stays whole"
    assert zero["stage3_gather_16bit_weights_on_model_save"] is True


def test_a_script_without_deepspeed_has_none() -> None:
    assert make_plan(a_run("none"), CONFIG).deepspeed is None


def test_auto_follows_the_network() -> None:
    """A small layer's gather would be mostly start-up on InfiniBand; on Ethernet it is not."""
    from allranks.spec import Network

    small = {**CONFIG, "hidden_size": 512, "intermediate_size": 1408, "num_attention_heads": 8}
    sizes = {}
    for fabric in ("tcp", "ib"):
        plan = make_plan(a_run("auto", network=Network(fabric=fabric)), small)
        sizes[fabric] = plan.deepspeed["zero_optimization"]["stage3_prefetch_bucket_size"]
        reason = plan.deepspeed_reasons["zero_optimization.stage3_prefetch_bucket_size"]
        assert "for this network" in reason
    assert sizes == {"tcp": 3_750_000, "ib": 60_000_000}
    one = Cluster((Node("n0", "10.0.0.1", 0, 8),))
    plan = make_plan(a_run("auto", cluster=one), small)
    layer = 4 * 512 * 512 + 3 * 512 * 1408 + 2 * 512
    assert plan.deepspeed["zero_optimization"]["stage3_prefetch_bucket_size"] == layer


@pytest.mark.parametrize(
    ("gpu", "optimizer", "scheduler", "there"),
    [
        ("A100-SXM4-80GB", "adamw_torch", "linear", True),
        ("A100-SXM4-80GB", "adamw_torch_fused", "linear", True),
        ("A100-SXM4-80GB", "adafactor", "linear", False),
        ("A100-SXM4-80GB", "adamw_torch", "cosine", False),
        ("cpu", "adamw_torch", "linear", False),
    ],
)
def test_deepspeeds_own_adam_takes_the_place_of_torchs_on_a_gpu_alone(
    gpu, optimizer, scheduler, there
) -> None:
    arguments = {"optim": optimizer, "lr_scheduler_type": scheduler}
    config = make_plan(a_run("zero3", arguments, gpus=Gpus(8, gpu)), CONFIG).deepspeed
    assert ("optimizer" in config, "scheduler" in config) == (there, there)


@pytest.mark.parametrize(
    ("rank", "whole"),
    [(8, True), (500, True), (600, False), (1000, False)],
    ids=["small", "just below a twentieth", "more than a twentieth of the model", "large tensors"],
)
def test_adapters_stay_whole_while_they_are_small(rank: int, whole: bool) -> None:
    """Of 336 million parameters: a rank adds 32,768 to all of them, and 2,048 to a tensor (at most two millions)."""
    plan = make_plan(a_run("auto", {"lora_rank": rank}), CONFIG)
    assert plan.trained is not None and plan.deepspeed is not None
    largest = max(shape[0] * shape[1] for _, shape in plan.trained.tensors)
    threshold = plan.deepspeed["zero_optimization"]["stage3_param_persistence_threshold"]
    assert threshold == (max(largest + 1, 10 * 2048) if whole else 10 * 2048)


@pytest.mark.parametrize(
    ("version", "float32", "holds"),
    [((0, 19, 1), False, False), ((0, 19, 2), True, False), ((0, 19, 3), True, True), (None, True, False)],
)
def test_what_deepspeeds_version_decides(version: Any, float32: bool, holds: bool) -> None:
    versions = Versions(None, version)
    assert (versions.float32_adapters, versions.holds_recomputed) == (float32, holds)


def test_experts_are_fused_from_transformers_5_on() -> None:
    assert [Versions(one, None).fused_experts for one in ((4, 57, 6), (5,), (5, 0, 0), None)] == [
        False, True, True, True,
    ]  # fmt: skip
