"""A DeepSpeed JSON of the user's own: keys that nobody reads, keys that contradict the training arguments.

Sources: transformers 5.6 (`integrations/deepspeed.py`, `trainer_config_process`: it refuses a JSON that says
something else than its arguments) and DeepSpeed 0.19.8 (`runtime/config.py`, `runtime/zero/config.py`).
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from allranks.core import BLOCK, NOTE, WARN, Finding
from allranks.plan.setting import Setting
from allranks.spec import Run

VOID: Mapping[str, str] = {
    "activation_checkpointing": "it configures deepspeed.checkpointing, which transformers' models never call; "
    "gradient_checkpointing of the trainer decides",
    "moe": "no part of DeepSpeed reads it: its mixture of experts is a layer of its own (deepspeed.moe), not a setting",
    "pipeline": "only a PipelineModule reads it, and models of transformers are of another class",
}
"""Sections without any effect under transformers, with the reason."""

_BOTH_NAMES = (
    *("prefetch_bucket_size", "param_persistence_threshold", "model_persistence_threshold"),
    *("max_live_parameters", "max_reuse_distance", "gather_16bit_weights_on_model_save"),
    *("module_granularity_threshold", "use_all_reduce_for_fetch_params", "allgather_sequential"),
)
"""Keys that DeepSpeed reads with `stage3_` before them and without it."""

ZERO_KEYS = frozenset(
    (
        *_BOTH_NAMES,
        *(f"stage3_{name}" for name in _BOTH_NAMES),
        *("stage", "contiguous_gradients", "reduce_scatter", "reduce_bucket_size", "allgather_partitions"),
        *("use_multi_rank_bucket_allreduce", "allgather_bucket_size", "overlap_comm", "compute_grad_norm"),
        *("load_from_fp32_weights", "elastic_checkpoint", "offload_param", "offload_optimizer", "zenflow"),
        *("sub_group_size", "cpu_offload_param", "cpu_offload_use_pin_memory", "cpu_offload"),
        *("stage3_gather_fp16_weights_on_model_save", "ignore_unused_parameters", "legacy_stage1"),
        *("round_robin_gradients", "parameter_alignment", "zero_hpz_partition_size"),
        *("zero_quantized_weights", "zero_quantized_nontrainable_weights", "zero_quantized_gradients"),
        *("memory_efficient_linear", "pipeline_loading_checkpoint", "override_module_apply"),
        *("log_trace_cache_warnings", "enable_sanity_checks", "save_muon_momentum_buffer_in_memory"),
        *("leaf_module", "mics_shard_size", "mics_hierarchical_params_gather"),
    )
)
"""What `zero_optimization` may hold in DeepSpeed 0.19.8; it refuses every other key."""


def void_keys(config: Mapping[str, Any]) -> dict[str, str]:
    """The sections of a JSON that have no effect, with the reason."""
    return {key: reason for key, reason in VOID.items() if key in config}


def key_findings(
    run: Run, setting: Setting, config: Mapping[str, Any], accepted: bool = False
) -> list[Finding]:
    """The findings about a JSON that the user wrote. If the nodes' own libraries have `accepted` it, contradictions,
    refused values and unknown keys do not stop the launch: they become notes."""
    where = run.where("deepspeed")
    findings = [
        Finding(
            id="deepspeed-key-void",
            verdict=WARN,
            where=where,
            saw=f"{run.deepspeed}: `{key}` has no effect",
            expected="keys that something reads",
            why=f"{reason}.",
            fix=f"take `{key}` out",
        )
        for key, reason in void_keys(config).items()
    ]
    ours = []
    differing = contradictions(run, setting, config)
    if differing:
        ours.append(
            Finding(
                id="deepspeed-contradicts",
                verdict=BLOCK,
                where=where,
                saw=f"{run.deepspeed}: "
                + "; ".join(f"{k} {a!r} against {name} {b!r}" for k, a, name, b in differing),
                expected="`auto`, or the same value",
                why="transformers raises ValueError if the JSON and the training arguments differ.",
                fix=", ".join(f'"{key.rpartition(".")[2]}": "auto"' for key, *_ in differing),
            )
        )
    ours += _refused_values(run, config)
    ours += _unknown(run, config)
    if accepted:
        ours = [
            replace(one, verdict=NOTE, why=f"{one.why} The nodes' own libraries take it.") for one in ours
        ]
    return [*findings, *ours, *_refused_later(run, config)]


COMPRESSING = ("onebitadam", "zerooneadam", "onebitlamb")
REDUCED_IN = ("fp16", "bf16", "fp32")


def _refused_values(run: Run, config: Mapping[str, Any]) -> list[Finding]:
    """Values that DeepSpeed's configuration refuses (DeepSpeed 0.19.8: `runtime/config.py`)."""
    stage = _at(config, "zero_optimization.stage") or 0
    reduced = config.get("communication_data_type")
    found: list[tuple[str, str, str]] = []
    if reduced is not None and str(reduced).lower() not in REDUCED_IN:
        why = f"DeepSpeed knows {', '.join(REDUCED_IN)}."
        found.append((f"communication_data_type: {reduced}", why, '"communication_data_type": "bf16"'))
    if stage not in (0, 1, 2, 3):
        found.append((f"zero_optimization.stage: {stage}", "there are stages 0 to 3.", '"stage": 3'))
    return [_refusal(run, *one) for one in found]


def _refused_later(run: Run, config: Mapping[str, Any]) -> list[Finding]:
    """Values that DeepSpeed's configuration accepts but `deepspeed.initialize` refuses when it has the model (0.19.8:
    `engine.py`, `_configure_basic_optimizer`, `zero/stage3.py`; 0.16.9 for the compressing optimizers)."""
    return [_refusal(run, *one) for one in refused_by_engine(config)]


def refused_by_engine(config: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """`(what, why, fix)` of each such value."""
    stage = _at(config, "zero_optimization.stage") or 0
    kind = str(_at(config, "optimizer.type") or "")
    found: list[tuple[str, str, str]] = []
    if kind.lower() in COMPRESSING:
        why = "DeepSpeed 0.19 has no such optimizer, and earlier ones refuse it with ZeRO"
        found.append((f"optimizer.type: {kind}", f"{why}; it compresses gradients alone.", '"type": "AdamW"'))
    if stage == 3 and config.get("prescale_gradients"):
        why = "ZeRO-3 asserts that gradients are scaled after they are reduced."
        found.append(("prescale_gradients: true", why, '"prescale_gradients": false'))
    return found


def _refusal(run: Run, saw: str, why: str, fix: str) -> Finding:
    return Finding(
        id="deepspeed-refuses",
        verdict=BLOCK,
        where=run.where("deepspeed"),
        saw=f"{run.deepspeed}: {saw}",
        expected="a value that DeepSpeed takes",
        why=why,
        fix=fix,
    )


def _unknown(run: Run, config: Mapping[str, Any]) -> list[Finding]:
    section = config.get("zero_optimization")
    strange = [key for key in section if key not in ZERO_KEYS] if isinstance(section, Mapping) else []
    near = {key: difflib.get_close_matches(key, ZERO_KEYS, n=1) for key in strange}
    return [
        Finding(
            id="deepspeed-key-unknown",
            verdict=WARN,
            where=run.where("deepspeed"),
            saw=f"{run.deepspeed}: zero_optimization.{key} is not a key of DeepSpeed 0.19.8",
            expected="keys of DeepSpeed's ZeRO configuration",
            why="DeepSpeed refuses a configuration with a key it does not know; a later version may know it.",
            fix=near[key][0] if near[key] else f"take `{key}` out",
        )
        for key in strange
    ]


def contradictions(run: Run, setting: Setting, config: Mapping[str, Any]) -> list[tuple[str, Any, str, Any]]:
    """(key in the JSON, its value, the trainer's argument, its value) wherever both speak and differ."""
    given = run.train.arguments
    world = run.cluster.world_size
    betas = [given.get("adam_beta1", 0.9), given.get("adam_beta2", 0.999)]
    expected: dict[str, tuple[str, Any]] = {
        "train_micro_batch_size_per_gpu": ("per_device_train_batch_size", setting.micro_batch),
        "gradient_accumulation_steps": ("gradient_accumulation_steps", setting.accumulation),
        "train_batch_size": ("train_batch_size", setting.micro_batch * setting.accumulation * world),
        "gradient_clipping": ("max_grad_norm", given.get("max_grad_norm", 1.0)),
        "optimizer.params.lr": ("learning_rate", given.get("learning_rate", 5e-5)),
        "optimizer.params.eps": ("adam_epsilon", given.get("adam_epsilon", 1e-8)),
        "optimizer.params.weight_decay": ("weight_decay", given.get("weight_decay", 0.0)),
        "optimizer.params.betas": ("adam_beta1+adam_beta2", betas),
        "scheduler.params.warmup_max_lr": ("learning_rate", given.get("learning_rate", 5e-5)),
        "bf16.enabled": ("bf16", setting.precision == "bf16" and not setting.pure_bf16),
        "fp16.enabled": ("fp16", setting.precision == "fp16"),
    }
    if setting.max_steps:
        expected["scheduler.params.total_num_steps"] = ("max_steps", setting.max_steps)
    if given.get("warmup_steps"):
        expected["scheduler.params.warmup_num_steps"] = ("warmup_steps", given["warmup_steps"])
    found = []
    for key, (name, wanted) in expected.items():
        value = _at(config, key)
        if value is not None and value != "auto" and value != wanted:
            found.append((key, value, name, wanted))
    return found


TRAINERS_ARGUMENTS = {
    "train_micro_batch_size_per_gpu": "per_device_train_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "gradient_clipping": "max_grad_norm",
    "optimizer.params.lr": "learning_rate",
    "optimizer.params.eps": "adam_epsilon",
    "optimizer.params.weight_decay": "weight_decay",
    "scheduler.params.warmup_max_lr": "learning_rate",
    "scheduler.params.total_num_steps": "max_steps",
    "scheduler.params.warmup_num_steps": "warmup_steps",
}
"""The keys of a JSON that transformers compares with its own arguments (`integrations/deepspeed.py`, fill_match)."""

BOTH_BATCHES = ("per_device_train_batch_size", "gradient_accumulation_steps")


def script_contradictions(
    words: Mapping[str, str], config: Mapping[str, Any], world: int
) -> list[tuple[str, Any, str, float]]:
    """As `contradictions`, for a script under transformers' trainer: `words` are its options without their dashes. Only
    numbers that the command itself gives are compared, since a script may have defaults of its own."""
    given = {name: number for name, value in words.items() if (number := _number(value)) is not None}
    expected = {key: (name, given[name]) for key, name in TRAINERS_ARGUMENTS.items() if name in given}
    if all(name in given for name in BOTH_BATCHES):
        total = given[BOTH_BATCHES[0]] * given[BOTH_BATCHES[1]] * world
        expected["train_batch_size"] = (" x ".join((*BOTH_BATCHES, "ranks")), total)
    found = []
    for key, (name, wanted) in expected.items():
        value = _at(config, key)
        unset = name in ("max_steps", "warmup_steps") and wanted <= 0
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value != wanted and not unset:
            found.append((key, value, name, wanted))
    return found


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _at(config: Mapping[str, Any], key: str) -> Any:
    value: Any = config
    for part in key.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value
