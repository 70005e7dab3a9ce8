"""GPUs by node, and how the names of their models compare."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from allranks.checks.context import UsedGpu, View


def by_node(gpus: Iterable[UsedGpu]) -> dict[View, list[UsedGpu]]:
    found: dict[View, list[UsedGpu]] = {}
    for gpu in gpus:
        found.setdefault(gpu.view, []).append(gpu)
    return found


def distinctive(name: Any) -> tuple[str, ...]:
    """The words of a model's name that tell models apart: `NVIDIA A100-SXM4-80GB` → a100, sxm4, 80gb."""
    words = re.split(r"[\s\-_/]+", str(name).lower())
    return tuple(
        word for word in words if word and word not in ("nvidia", "tesla", "gpu", "graphics", "card")
    )


def same_model(asked: Any, name: Any) -> bool:
    """Whether the GPU's name contains every distinctive word that was asked for."""
    has = distinctive(name)
    return all(any(word == other or word in other for other in has) for word in distinctive(asked))


def architecture(model: str | None, generation: str | None = None) -> float | None:
    """Compute capability by the model's name (NVIDIA "CUDA GPUs" table), else the least of the architecture that
    nvidia-smi names (drivers 470 and later); None for unknown models."""
    name = " ".join(distinctive(model))
    for pattern, capability in _CAPABILITIES:
        if re.search(pattern, name):
            return capability
    return _ARCHITECTURES.get(str(generation))


_ARCHITECTURES = {
    "Kepler": 3.0,
    "Maxwell": 5.0,
    "Pascal": 6.0,
    "Volta": 7.0,
    "Turing": 7.5,
    "Ampere": 8.0,
    "Ada Lovelace": 8.9,
    "Hopper": 9.0,
    "Blackwell": 10.0,
}
_CAPABILITIES = (
    (r"\b(b300|gb300)\b", 10.3),
    (r"\b(b200|gb200|b100)\b", 10.0),
    (r"\b(h100|h200|h800|h20|gh200)\b", 9.0),
    (r"\b(l4|l40|l40s|l20|rtx 40\d\d|4090|4080|rtx 6000 ada|rtx 5000 ada)\b", 8.9),
    (r"\b(a100|a800|a30)\b", 8.0),
    (r"\b(a10|a10g|a40|a16|a2|rtx 30\d\d|3090|3080|rtx a\d000|a6000|a5000|a4000)\b", 8.6),
    (r"\b(t4|rtx 20\d\d|2080|gtx 16\d\d|quadro rtx)\b", 7.5),
    (r"\b(v100|titan v)\b", 7.0),
    (r"\b(p100)\b", 6.0),
    (r"\b(p40|p4|gtx? 10\d\d|1080|quadro p\d+)\b", 6.1),
    (r"\b(m60|m40)\b", 5.2),
    (r"\b(k80)\b", 3.7),
    (r"\b(k40)\b", 3.5),
    (r"\b(k520)\b", 3.0),
)
