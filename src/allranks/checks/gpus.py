"""What the GPU checks share: which GPUs of a machine the run uses, and how models and sizes compare."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from allranks.checks.context import Context, View
from allranks.core.untrusted import mapping, number


def applies(context: Context) -> bool:
    """The run computes on GPUs."""
    return context.uses_gpu


def used(context: Context) -> list[tuple[View, int, Mapping[str, Any]]]:
    """`(a node of the machine, index, GPU)` of every GPU that ranks of this run will compute on."""
    return context.used_gpus


def label(index: int, gpu: Mapping[str, Any]) -> str:
    """`GPU 3 (0000:53:00.0)`."""
    bus = gpu.get("bus_id")
    return f"GPU {index} ({bus})" if isinstance(bus, str) else f"GPU {index}"


def distinctive(name: Any) -> tuple[str, ...]:
    """The words of a model's name that tell models apart: `NVIDIA A100-SXM4-80GB` → a100, sxm4, 80gb."""
    words = re.split(r"[\s\-_/]+", str(name).lower())
    return tuple(
        word for word in words if word and word not in ("nvidia", "tesla", "gpu", "graphics", "card")
    )


def same_model(asked: Any, name: Any) -> bool:
    """Whether every distinctive word that was asked for stands in the GPU's name."""
    has = distinctive(name)
    return all(any(word == other or word in other for other in has) for word in distinctive(asked))


def architecture(gpu: Mapping[str, Any]) -> float | None:
    """Compute capability by the model's name (NVIDIA "CUDA GPUs" table), None for unknown models."""
    name = " ".join(distinctive(gpu.get("name")))
    for pattern, capability in _CAPABILITIES:
        if re.search(pattern, name):
            return capability
    return None


_CAPABILITIES = (
    (r"\b(b300|gb300)\b", 10.3),
    (r"\b(b200|gb200|b100)\b", 10.0),
    (r"\b(h100|h200|h800|h20|gh200)\b", 9.0),
    (r"\b(l4|l40|l40s|l20|rtx 40\d\d|4090|4080|rtx 6000 ada|rtx 5000 ada)\b", 8.9),
    (r"\b(a100|a800|a30)\b", 8.0),
    (r"\b(a10|a10g|a40|a16|a2|rtx 30\d\d|3090|3080|rtx a\d000|a6000|a5000|a4000)\b", 8.6),
    (r"\b(t4|rtx 20\d\d|2080|quadro rtx)\b", 7.5),
    (r"\b(v100|titan v)\b", 7.0),
    (r"\b(p100)\b", 6.0),
    (r"\b(p40|p4|gtx 10\d\d|1080)\b", 6.1),
)


def field(gpu: Mapping[str, Any], path: str) -> Any:
    """`field(gpu, "ecc.volatile")`; None where any part is missing."""
    value: Any = gpu
    for part in path.split("."):
        value = mapping(value).get(part)
    return value


def amount(gpu: Mapping[str, Any], path: str) -> float | None:
    return number(field(gpu, path))
