"""The DeepSpeed JSON for `auto`, `zero3` and `zero3-offload`, each value with its reason.

`zero3` and `zero3-offload` are fixed profiles (well known from guides and threads); `auto` is ZeRO-3 sized
for the model, the GPUs and the network. Values that transformers fills from its own arguments are `auto`,
so that the two can never disagree (transformers 5.6, `integrations/deepspeed.py`: `trainer_config_process`
refuses a JSON that contradicts them).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from allranks.plan.lora import Trained
from allranks.plan.model import Model
from allranks.plan.setting import Setting

PROFILES = ("auto", "zero3", "zero3-offload")

# No `train_batch_size`: with `use_cpu` transformers opens zero.Init before DeepSpeed knows the world size, and
# DeepSpeed then refuses the filled-in product (6 != 2 * 1 * 1). It computes the value from the other two.
FILLED = {
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
}
_FILLED_REASON = "filled by transformers from the training arguments, so the two cannot disagree"


def deepspeed_config(
    profile: str,
    setting: Setting,
    model: Model | None,
    trained: Trained | None,
    *,
    gather_bytes_limit: float = 64 * 2**30,
) -> tuple[dict[str, Any], dict[str, str]]:
    """(the JSON, {dotted key: reason}) for one of PROFILES. `gather_bytes_limit` is how much of rank 0's host
    memory a gather of the whole model may take at a save."""
    if profile == "zero3":
        zero, reasons = _zero3(setting)
    elif profile == "zero3-offload":
        zero, reasons = _offload(setting)
    elif profile == "auto":
        zero, reasons = _auto(setting, model, trained, gather_bytes_limit)
    else:
        raise ValueError(f"{profile!r} is no profile; there are {', '.join(PROFILES)}")
    config: dict[str, Any] = dict(FILLED)
    config["bf16"], config["fp16"] = {"enabled": "auto"}, {"enabled": "auto"}
    config["zero_allow_untested_optimizer"] = True
    config["zero_optimization"] = zero
    for key in (*FILLED, "bf16.enabled", "fp16.enabled"):
        reasons[key] = _FILLED_REASON
    reasons["zero_allow_untested_optimizer"] = (
        "the optimizer is transformers' AdamW, which DeepSpeed has not tested"
    )
    return config, reasons


def _common(setting: Setting) -> tuple[dict[str, Any], dict[str, str]]:
    zero: dict[str, Any] = {"stage": 3, "overlap_comm": setting.uses_gpu, "contiguous_gradients": True}
    reasons = {
        "zero_optimization.stage": "parameters, gradients and optimizer states are split over all ranks",
        "zero_optimization.overlap_comm": "gathers the next layer while this one computes"
        if setting.uses_gpu
        else "the CPU has no streams to overlap on",
        "zero_optimization.contiguous_gradients": "gradients go into one buffer, which avoids fragmentation",
    }
    return zero, reasons


def _sizes(reduce: int, prefetch: int, persistence: int, live: int, reuse: int) -> dict[str, int]:
    return {
        "reduce_bucket_size": reduce,
        "stage3_prefetch_bucket_size": prefetch,
        "stage3_param_persistence_threshold": persistence,
        "stage3_max_live_parameters": live,
        "stage3_max_reuse_distance": reuse,
    }


_SIZE_REASONS = {
    "reduce_bucket_size": "elements reduced at once; the buffer exists from the first backward on",
    "stage3_prefetch_bucket_size": "elements gathered ahead of their use",
    "stage3_param_persistence_threshold": "smaller tensors stay whole on every rank and cost no gather",
    "stage3_max_live_parameters": "gathered elements above which nothing is fetched ahead",
    "stage3_max_reuse_distance": "a tensor used again within so many elements is kept, not gathered twice",
}


def _zero3(setting: Setting) -> tuple[dict[str, Any], dict[str, str]]:
    """The profile without offload: large buckets, for runs whose shard fits the GPUs."""
    zero, reasons = _common(setting)
    zero.update(_sizes(500_000_000, 500_000_000, 1_000_000, 1_000_000_000, 1_000_000_000))
    zero["stage3_gather_16bit_weights_on_model_save"] = True
    reasons.update({f"zero_optimization.{key}": reason for key, reason in _SIZE_REASONS.items()})
    reasons["zero_optimization.stage3_gather_16bit_weights_on_model_save"] = _GATHER_REASON
    return zero, reasons


def _offload(setting: Setting) -> tuple[dict[str, Any], dict[str, str]]:
    """The profile with offload: parameters and optimizer states rest in host memory, smaller buckets."""
    zero, reasons = _common(setting)
    device = {"device": "cpu", "pin_memory": setting.uses_gpu}
    zero["offload_optimizer"], zero["offload_param"] = dict(device), dict(device)
    zero.update(_sizes(200_000_000, 200_000_000, 1_000_000, 500_000_000, 500_000_000))
    zero["stage3_gather_16bit_weights_on_model_save"] = True
    reasons.update({f"zero_optimization.{key}": reason for key, reason in _SIZE_REASONS.items()})
    for part, what in (("optimizer", "optimizer states"), ("param", "the shard of the parameters")):
        reasons[f"zero_optimization.offload_{part}.device"] = f"{what} rest in host memory"
        reasons[f"zero_optimization.offload_{part}.pin_memory"] = (
            "pinned pages copy to the GPU about twice as fast, and cannot be swapped"
            if setting.uses_gpu
            else "there is no GPU to copy to"
        )
    reasons["zero_optimization.stage3_gather_16bit_weights_on_model_save"] = _GATHER_REASON
    return zero, reasons


_GATHER_REASON = (
    "transformers before 5 writes an empty adapter under ZeRO-3 without it; "
    "it gathers the whole model on rank 0"
)


def _auto(
    setting: Setting, model: Model | None, trained: Trained | None, gather_bytes_limit: float
) -> tuple[dict[str, Any], dict[str, str]]:
    """ZeRO-3 with sizes that follow the model."""
    zero, reasons = _common(setting)
    if model is None:
        zero.update(
            {
                "reduce_bucket_size": "auto",
                "stage3_prefetch_bucket_size": "auto",
                "stage3_param_persistence_threshold": "auto",
                "stage3_gather_16bit_weights_on_model_save": True,
            }
        )
        for key in (
            "reduce_bucket_size",
            "stage3_prefetch_bucket_size",
            "stage3_param_persistence_threshold",
        ):
            reasons[f"zero_optimization.{key}"] = (
                "the model is not known here; transformers sizes it by hidden_size"
            )
        reasons["zero_optimization.stage3_gather_16bit_weights_on_model_save"] = _GATHER_REASON
        return zero, reasons
    sizes, why = _fitted_sizes(model, trained)
    zero.update(sizes)
    gather = model.total_parameters * 2 <= gather_bytes_limit
    zero["stage3_gather_16bit_weights_on_model_save"] = gather
    reasons.update({f"zero_optimization.{key}": f"{_SIZE_REASONS[key]}: {text}" for key, text in why.items()})
    gib = model.total_parameters * 2 / 2**30
    reasons["zero_optimization.stage3_gather_16bit_weights_on_model_save"] = (
        _GATHER_REASON
        if gather
        else f"a save would gather {gib:,.0f} GiB on rank 0; allranks saves the adapter by gathering what trains alone"
    )
    return zero, reasons


def _fitted_sizes(model: Model, trained: Trained | None) -> tuple[dict[str, int], dict[str, str]]:
    hidden = model.hidden
    count = trained.parameters if trained else model.total_parameters
    largest = max((prod(shape) for _, shape in trained.tensors), default=0) if trained else 0
    dense = max(
        (p - e for p, e in zip(model.parameters_per_layer, model.experts_per_layer, strict=True)), default=0
    )
    # What a step reduces at most is what trains, so a larger bucket is only memory.
    reduce = min(500_000_000, max(count, 1_000_000))
    prefetch = min(500_000_000, max(dense, 10 * hidden))
    keep_lora = largest < 2_000_000 and count < model.total_parameters // 20
    persistence = max(10 * hidden, largest + 1 if keep_lora else 0)
    live = max(1_000_000_000, prefetch)
    sizes = _sizes(reduce, prefetch, persistence, live, live)
    why = {
        "reduce_bucket_size": f"{reduce:,}, of {count:,} that train",
        "stage3_prefetch_bucket_size": f"{prefetch:,}, a layer without its routed experts has {dense:,}",
        "stage3_param_persistence_threshold": f"{persistence:,}, norms and biases"
        + (f" and every adapter tensor (at most {largest:,})" if keep_lora else ""),
        "stage3_max_live_parameters": f"{live:,}",
        "stage3_max_reuse_distance": f"{live:,}",
    }
    return sizes, why


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
