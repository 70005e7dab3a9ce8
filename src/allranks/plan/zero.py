"""The settings of ZeRO in a DeepSpeed JSON, read once, with the defaults of transformers and DeepSpeed filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Zero:
    """ZeRO's settings. Sizes are in elements. Defaults are DeepSpeed 0.19.8's (`runtime/zero/config.py`)."""

    stage: int = 0
    offload_parameters: str | None = None
    offload_optimizer: str | None = None
    reduce_bucket: int = 500_000_000
    prefetch_bucket: int = 50_000_000
    persistence_threshold: int = 100_000
    max_live: int = 1_000_000_000
    max_reuse: int = 1_000_000_000
    sub_group: int = 1_000_000_000
    sequential: bool = False
    hpz: int = 1
    quantized_weights: bool = False
    overlap: bool = True
    contiguous_gradients: bool = True
    gather_on_save: bool = False

    @property
    def gathering(self) -> tuple[int | bool, ...]:
        """The settings that decide when tensors are gathered and released."""
        return (
            self.prefetch_bucket,
            self.persistence_threshold,
            self.max_live,
            self.max_reuse,
            self.sequential,
        )

    @property
    def enabled(self) -> bool:
        return self.stage > 0


def zero_of(config: Mapping[str, Any] | None, hidden: int) -> Zero:
    """Reads `zero_optimization`. `auto` sizes become the values that transformers fills in for this hidden size
    (5.6, `integrations/deepspeed.py`: hidden², 0.9·hidden², 10·hidden). Without a JSON, and at stage 0, training is
    plain data parallel."""
    section = (config or {}).get("zero_optimization")
    if not isinstance(section, Mapping):
        return Zero()
    stage = _whole(section.get("stage"), 0)
    automatic = {
        "reduce_bucket_size": hidden * hidden,
        "stage3_prefetch_bucket_size": int(0.9 * hidden * hidden),
        "stage3_param_persistence_threshold": 10 * hidden,
    }

    def said(key: str) -> Any:
        """The value of a key. DeepSpeed also reads `stage3_` keys without their prefix; if both are there, the prefixed
        one counts."""
        return section[key] if key in section else section.get(key.removeprefix("stage3_"))

    def size(key: str, default: int) -> int:
        # transformers fills in `auto` only under the prefixed name. DeepSpeed ignores any other `auto`.
        return automatic.get(key, default) if section.get(key) == "auto" else _whole(said(key), default)

    overlap = section.get("overlap_comm")
    return Zero(
        stage=stage,
        offload_parameters=_device(section.get("offload_param")),
        offload_optimizer=_device(section.get("offload_optimizer")),
        reduce_bucket=size("reduce_bucket_size", 500_000_000),
        prefetch_bucket=size("stage3_prefetch_bucket_size", 50_000_000),
        persistence_threshold=size("stage3_param_persistence_threshold", 100_000),
        max_live=size("stage3_max_live_parameters", 1_000_000_000),
        max_reuse=size("stage3_max_reuse_distance", 1_000_000_000),
        sub_group=size("sub_group_size", 1_000_000_000),
        sequential=said("stage3_allgather_sequential") is True,
        hpz=max(1, _whole(section.get("zero_hpz_partition_size"), 1)),
        quantized_weights=bool(section.get("zero_quantized_weights")),
        overlap=stage == 3 if overlap is None else bool(overlap),
        contiguous_gradients=bool(section.get("contiguous_gradients", True)),
        gather_on_save=said("stage3_gather_16bit_weights_on_model_save") is True,
    )


def _whole(value: Any, default: int) -> int:
    if isinstance(value, bool) or value is None:
        return default
    try:
        return int(float(value))
    except (TypeError, ValueError, OverflowError):
        return default


def _device(section: Any) -> str | None:
    """`cpu`, `nvme` or None; `{"device": "none"}` is None."""
    if not isinstance(section, Mapping):
        return None
    device = section.get("device")
    return str(device) if device in ("cpu", "nvme") else None
