"""The DeepSpeed JSON for `auto`, `zero3` and `zero3-offload`, each value with its reason.

`zero3` and `zero3-offload` are fixed profiles (well known from guides and threads); `auto` is ZeRO-3 sized
for the model, the GPUs and the network. Values that transformers fills from its own arguments are `auto`,
so that the two can never disagree (transformers 5.6, `integrations/deepspeed.py`: `trainer_config_process`
refuses a JSON that contradicts them).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from allranks.plan.lora import Trained
from allranks.plan.model import Model
from allranks.plan.setting import Setting
from allranks.plan.versions import SEQUENTIAL_GATHERS, Versions

PROFILES = ("auto", "zero3", "zero3-offload")

# No `train_batch_size`: with `use_cpu` transformers opens zero.Init before DeepSpeed knows the world size, and
# DeepSpeed then refuses the filled-in product (6 != 2 * 1 * 1). It computes the value from the other two.
FILLED = {
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
}
_FILLED_REASON = "filled by transformers from the training arguments, so the two cannot disagree"

_ZERO = "zero_optimization."

_SIZES = {
    "reduce_bucket_size": "elements reduced at once; the buffer exists from the first backward on",
    "stage3_prefetch_bucket_size": "elements gathered ahead of their use",
    "stage3_param_persistence_threshold": "smaller tensors stay whole on every rank and cost no gather",
    "stage3_max_live_parameters": "gathered elements above which nothing is fetched ahead",
    "stage3_max_reuse_distance": "a tensor used again within so many elements is kept, not gathered twice",
}
_GATHER_KEY = "stage3_gather_16bit_weights_on_model_save"
_GATHER_REASON = (
    "without it transformers before 5 saves an empty adapter; it gathers the whole model on rank 0"
)

MOST_GATHERED_BYTES = 64 * 2**30
"""The most host memory of rank 0 that a gather of the whole model at a save may take."""

STARTS_AHEAD = 10 * 60e-6
"""The least amount that is gathered ahead, in seconds of transfer: ten times the start of a gather (`traffic.py`,
LATENCY_SECONDS)."""

LARGE_UNIT_BYTES = 2**30
"""Above this size of a gathered unit the slower sequential gather pays off, since it avoids a second copy of the same
size."""


@dataclass
class _Json:
    """A JSON in the making, with one reason for each value."""

    values: dict[str, Any] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def put(self, key: str, value: Any, reason: str) -> None:
        """Sets a dotted key."""
        *sections, last = key.split(".")
        place = self.values
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = value
        self.reasons[key] = reason

    def sizes(self, *numbers: int, why: Mapping[str, str] | None = None) -> None:
        for (key, reason), number in zip(_SIZES.items(), numbers, strict=True):
            detail = f": {why[key]}" if why and key in why else ""
            self.put(_ZERO + key, number, reason + detail)


def deepspeed_config(
    profile: str,
    setting: Setting,
    model: Model | None,
    trained: Trained | None,
    versions: Versions,
    *,
    network: float | None = None,
) -> tuple[dict[str, Any], dict[str, str]]:
    """(the JSON, {dotted key: reason}) for one of PROFILES. `network` is the bandwidth out of one node, in bytes per
    second; None if the run has only one node."""
    if profile not in PROFILES:
        raise ValueError(f"{profile!r} is not a profile; there are {', '.join(PROFILES)}")
    json = _Json()
    for key, value in FILLED.items():
        json.put(key, value, _FILLED_REASON)
    json.put("bf16.enabled", "auto", _FILLED_REASON)
    _stage_3(json, setting)
    if profile == "auto":
        least = 0 if network is None else int(STARTS_AHEAD * network / setting.weight_bytes)
        _auto(json, setting, model, trained, versions, least)
    elif profile == "zero3":
        _zero3(json, setting)
    else:
        _offload(json, setting)
    return json.values, json.reasons


def _stage_3(json: _Json, setting: Setting) -> None:
    json.put(_ZERO + "stage", 3, "parameters, gradients and optimizer states are split over all ranks")
    overlap = "gathers the next layer while this one computes"
    overlap = overlap if setting.uses_gpu else "the CPU has no streams to overlap"
    json.put(_ZERO + "overlap_comm", setting.uses_gpu, overlap)
    json.put(_ZERO + "contiguous_gradients", True, "gradients go into one buffer, which avoids fragmentation")


def _both_profiles(json: _Json) -> None:
    json.put(_ZERO + _GATHER_KEY, True, _GATHER_REASON)
    json.put("communication_data_type", "bf16", "gradients are reduced in the precision they are computed in")
    json.put("wall_clock_breakdown", False, "timing every part would synchronize the GPU each time")


def _zero3(json: _Json, setting: Setting) -> None:
    """The profile without offload: large buckets, for runs whose shard fits the GPUs."""
    for part in ("offload_optimizer", "offload_param"):
        json.put(f"{_ZERO}{part}.device", "none", "everything stays on the GPU")
    json.sizes(500_000_000, 500_000_000, 1_000_000, 1_000_000_000, 1_000_000_000)
    _both_profiles(json)
    if setting.uses_gpu and setting.optimizer.startswith("adamw_torch") and setting.scheduler == "linear":
        json.put("optimizer.type", "AdamW", "DeepSpeed's fused AdamW")
        for name in ("lr", "betas", "eps", "weight_decay"):
            json.put(f"optimizer.params.{name}", "auto", _FILLED_REASON)
        # DeepSpeed 0.19.8 refuses a schedule with a warm-up of 0 steps (`lr_schedules.py`).
        if setting.warmup:
            _decaying(json)
    json.put(
        "zero_allow_untested_optimizer", True, "lets transformers' own AdamW through, if it is asked for"
    )


def _decaying(json: _Json) -> None:
    json.put("scheduler.type", "WarmupDecayLR", "linear decay after warm-up, as lr_scheduler_type asks")
    for name in ("warmup_min_lr", "warmup_max_lr", "warmup_num_steps", "total_num_steps"):
        json.put(f"scheduler.params.{name}", "auto", _FILLED_REASON)


def _offload(json: _Json, setting: Setting) -> None:
    """The profile with offload: parameters and optimizer states rest in host memory, smaller buckets."""
    pinned = "pinned pages copy to the GPU about twice as fast, and cannot be swapped"
    pinned = pinned if setting.uses_gpu else "there is no GPU to copy to"
    for part, what in (("optimizer", "optimizer states"), ("param", "the shard of the parameters")):
        json.put(f"{_ZERO}offload_{part}.device", "cpu", f"{what} rest in host memory")
        json.put(f"{_ZERO}offload_{part}.pin_memory", setting.uses_gpu, pinned)
    json.sizes(200_000_000, 200_000_000, 1_000_000, 500_000_000, 500_000_000)
    _both_profiles(json)


def _auto(
    json: _Json,
    setting: Setting,
    model: Model | None,
    trained: Trained | None,
    versions: Versions,
    least_ahead: int,
) -> None:
    """ZeRO-3 with sizes that follow the model."""
    json.put("fp16.enabled", "auto", _FILLED_REASON)
    json.put(
        "zero_allow_untested_optimizer", True, "the optimizer is transformers' AdamW, untested by DeepSpeed"
    )
    if model is None:
        unknown = "the model is not known here; transformers sizes it by hidden_size"
        for key in list(_SIZES)[:3]:
            json.put(_ZERO + key, "auto", unknown)
        json.put(_ZERO + _GATHER_KEY, True, _GATHER_REASON)
        return
    name, unit = model.gathered_unit(setting.experts_at_once)
    if setting.experts_at_once and unit != model.largest_unit[1]:  # else it is one tensor: no second copy
        unit = model.experts_together(setting.experts_at_once)
    sizes, why = _fitted_sizes(model, trained, least_ahead)
    json.sizes(*sizes, why=why)
    whole = model.total_parameters * setting.weight_bytes
    json.put(
        _ZERO + _GATHER_KEY,
        whole <= MOST_GATHERED_BYTES,
        _GATHER_REASON
        if whole <= MOST_GATHERED_BYTES
        else f"a save would gather {whole / 2**30:,.0f} GiB on rank 0; allranks gathers only what trains",
    )
    size = unit * setting.weight_bytes
    known_old = versions.deepspeed is not None and versions.deepspeed < SEQUENTIAL_GATHERS
    if size >= LARGE_UNIT_BYTES and not known_old:
        json.put(
            _ZERO + "stage3_allgather_sequential",
            True,
            f"gathers tensor by tensor: together, {name} would need its {size / 2**30:.2f} GiB twice "
            "(DeepSpeed 0.18.5 or later)",
        )


def _fitted_sizes(
    model: Model, trained: Trained | None, least_ahead: int
) -> tuple[tuple[int, ...], dict[str, str]]:
    """(the sizes in the order of _SIZES, {key: the reason})."""
    hidden = model.hidden
    count = trained.parameters if trained else model.total_parameters
    largest = max((prod(shape) for _, shape in trained.tensors), default=0) if trained else 0
    dense = max(
        (p - e for p, e in zip(model.parameters_per_layer, model.experts_per_layer, strict=True)), default=0
    )
    # A step never reduces more than the trained parameters, so a larger bucket would only waste memory.
    reduce = min(500_000_000, max(count, 1_000_000))
    prefetch = min(500_000_000, max(dense, 10 * hidden, least_ahead))
    followed = f"a layer without its routed experts has {dense:,}"
    if least_ahead > dense:
        followed = "smaller gathers would wait for their start more than for this network"
    keep_lora = largest < 2_000_000 and count < model.total_parameters // 20
    persistence = max(10 * hidden, largest + 1 if keep_lora else 0)
    live = max(1_000_000_000, prefetch)
    reuse, kept = live, "a layer's tensors need not be gathered again right after recomputation"
    if model.largest_unit[1] * 2 >= LARGE_UNIT_BYTES:
        reuse, kept = 10 * hidden, "the largest unit fills the memory; nothing else is kept beside it"
    why = {
        "stage3_max_reuse_distance": f"{reuse:,}, {kept}",
        "reduce_bucket_size": f"{reduce:,}, for {count:,} that train",
        "stage3_prefetch_bucket_size": f"{prefetch:,}, {followed}",
        "stage3_param_persistence_threshold": f"{persistence:,}, norms and biases"
        + (f" and every adapter tensor (at most {largest:,})" if keep_lora else ""),
    }
    return (reduce, prefetch, persistence, live, reuse), why


def is_profile(deepspeed: str) -> bool:
    return deepspeed in PROFILES


def reasons_for(config: Mapping[str, Any], reasons: Mapping[str, str]) -> dict[str, str]:
    """One reason for each value of a JSON, in its order; for what no reason is known, that it is the user's own."""
    return {key: reasons.get(key, "as written in the file") for key in _dotted(config)}


def _dotted(config: Mapping[str, Any], prefix: str = ""):
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
