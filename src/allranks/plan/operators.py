"""The operators of DeepSpeed that a run compiles at their first use (DeepSpeed 0.16 to 0.19, `ops/op_builder`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.core.untrusted import mapping
from allranks.spec import Run

BUILDERS = {
    "cpu_adam": "CPUAdamBuilder",
    "fused_adam": "FusedAdamBuilder",
    "async_io": "AsyncIOBuilder",
    "deepspeed_shm_comm": "ShareMemCommBuilder",
}
"""The class that builds each operator, by the operator's name in torch's cache."""


def operators(run: Run, deepspeed: Mapping[str, Any] | None) -> list[str]:
    """The names of those that this configuration uses; of a script of the user's own nothing is known."""
    if run.train.kind != "llamafactory" or not deepspeed:
        return []
    zero = mapping(deepspeed.get("zero_optimization"))
    states, weights = (mapping(zero.get(f"offload_{part}")).get("device") for part in ("optimizer", "param"))
    optimizer = str(mapping(deepspeed.get("optimizer")).get("type") or "").lower()
    found = []
    if states in ("cpu", "nvme"):
        found.append("cpu_adam")
    elif optimizer in ("adam", "adamw"):
        found.append("fused_adam")
    if "nvme" in (states, weights):
        found.append("async_io")
    if run.on_cpu:
        found.append("deepspeed_shm_comm")
    return found


def needs_cuda(run: Run, deepspeed: Mapping[str, Any] | None) -> bool:
    """Whether nvcc compiles one of them."""
    return not run.on_cpu and "fused_adam" in operators(run, deepspeed)
