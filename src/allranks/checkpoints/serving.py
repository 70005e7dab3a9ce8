"""Converts an adapter into what vLLM loads: plain LoRA of one rank and one scale, each expert by its own name.

vLLM (`vllm/lora/peft_helper.py`, `vllm/lora/lora_model.py`) reads `r`, `lora_alpha`, `use_rslora` and the pairs
lora_A and lora_B; it refuses DoRA, modules_to_save and biases, and passes over rank_pattern and alpha_pattern
without a word, which scales those modules wrongly. Needs torch.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional, Tuple

from allranks.checkpoints import adapter as parts
from allranks.checkpoints.adapter import Adapter
from allranks.checkpoints.base_model import BaseModel, Refused
from allranks.checkpoints.catalogue import found
from allranks.checkpoints.edits import (
    Fused,
    fused_of,
    is_fused,
    parameters_of,
    refuse_unknown,
    scale_of,
    which_fused,
)
from allranks.checkpoints.merging import DTYPES, rows_of, write_at
from allranks.checkpoints.weights import Tensor, make_header
from allranks.core import Finding
from allranks.core.text import printable

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The values that vLLM's --max-lora-rank takes (`vllm/config/lora.py`, MaxLoRARanks)."""

CONFIG = {
    "peft_type": "LORA", "bias": "none", "fan_in_fan_out": False, "inference_mode": True, "init_lora_weights": True,
    "lora_dropout": 0.0, "modules_to_save": None, "use_dora": False, "rank_pattern": {}, "alpha_pattern": {},
}  # fmt: skip


class Pair:
    """One module as vLLM names it. `scale` is what the adapter multiplies B·A by, `fused` the experts' tensor
    that it is cut out of, with (number, first row, rows)."""

    def __init__(self, name: str, a: Tensor, b: Tensor, scale: float,
                 fused: Optional[Tuple[Fused, bool, int, int, int]] = None):  # fmt: skip
        self.name, self.a, self.b, self.scale, self.fused = name, a, b, scale, fused


def refusals(adapter: Adapter, raw: Mapping[str, Any], most: Optional[int], file: str) -> List[Finding]:
    """What vLLM does not take, all at once."""
    config = adapter.config
    against = []
    if config.dora:
        against.append("DoRA")
    if adapter.others:
        against.append(
            "modules trained in full (%s)" % printable(parts.split_name(adapter.others[0].name)[0])
        )
    if config.bias != "none" or raw.get("lora_bias"):
        against.append("biases")
    if raw.get("fan_in_fan_out"):
        against.append("fan_in_fan_out")
    if any(parts.EMBEDDING_A in tensors for tensors in adapter.modules.values()):
        against.append("an adapter on the embedding")
    findings = (
        [found("export-vllm-refuses", file, "the adapter has %s" % ", ".join(against))] if against else []
    )
    rank, limit = most_of(adapter), min(most or RANKS[-1], RANKS[-1])
    if rank > limit:
        findings.append(found("export-vllm-rank", file, "rank %d" % rank, "at most %d" % limit))
    return findings


def most_of(adapter: Adapter) -> int:
    return max([adapter.config.rank, *adapter.config.rank_pattern.values()])


def needed_rank(adapter: Adapter) -> int:
    """The smallest --max-lora-rank that takes the adapter."""
    return next(rank for rank in RANKS if rank >= most_of(adapter))


def notes(adapter: Adapter, raw: Mapping[str, Any], file: str) -> List[Finding]:
    findings = []
    absorbed = sorted(m for m in adapter.modules if m.endswith(".kv_b_proj"))
    if absorbed:
        saw = "%d modules, first %s" % (len(absorbed), printable(absorbed[0]))
        findings.append(found("export-vllm-absorbed", file, saw))
    fused = sorted(m for m in adapter.modules if is_fused(adapter, m))
    if fused:
        saw = "%d tensors of fused experts, first %s" % (len(fused), printable(fused[0]))
        findings.append(found("export-vllm-experts", file, saw))
    if raw.get("rank_pattern") or raw.get("alpha_pattern"):
        saw = "%d patterns" % (len(raw.get("rank_pattern") or {}) + len(raw.get("alpha_pattern") or {}))
        findings.append(found("export-vllm-folded", file, saw))
    return findings


def pairs(adapter: Adapter, raw: Mapping[str, Any], base: Optional[BaseModel], file: str) -> List[Pair]:
    """Raises Refused; `base` is needed for fused experts alone, whose sizes only it tells."""
    refuse_unknown(raw, file)
    made = []
    for module in sorted(adapter.modules):
        tensors, owner = adapter.modules[module], parts.owner(module)
        scale = scale_of(adapter, raw, module, file)
        if not is_fused(adapter, module):
            made.append(Pair(module, tensors[parts.A], tensors[parts.B], scale))
            continue
        if base is None:
            raise Refused(found("export-base-missing", file, "the sizes of fused experts are the base's"))
        choices = fused_of(base, owner, parameters_of(adapter, owner))
        fused, flipped = which_fused(adapter, raw, module, choices, file)
        if not fused.parts:
            saw = "%s is one tensor on disk too" % printable(fused.name)
            raise Refused(found("export-vllm-refuses", file, saw))
        for number in range(fused.experts):
            first = 0
            for part, rows in fused.parts:
                cut = (fused, flipped, number, first, rows)
                made.append(
                    Pair("%s.%d.%s" % (owner, number, part), tensors[parts.A], tensors[parts.B], scale, cut)
                )
                first += rows
    return made


def halves(pair: Pair, fd: int, rank: int, scale: float) -> Tuple[Any, Any]:
    """(A, B) in float64, padded to `rank` with zeros; B carries what differs from the common scale."""
    import torch

    a = rows_of(fd, pair.a, 0, pair.a.shape[0], pair.a.shape[1]).double()
    b = rows_of(fd, pair.b, 0, pair.b.shape[0], pair.b.shape[1]).double()
    if pair.fused is not None:
        fused, flipped, number, first, rows = pair.fused
        each = a.shape[0] // fused.experts
        a, b = a[number * each : (number + 1) * each], b[:, number :: fused.experts]
        left, right = (a.T, b.T) if flipped else (b, a)
        a, b = right, left[first : first + rows]
    b = b * (pair.scale / scale)
    if a.shape[0] < rank:
        a = torch.cat([a, torch.zeros(rank - a.shape[0], a.shape[1], dtype=a.dtype)])
        b = torch.cat([b, torch.zeros(b.shape[0], rank - b.shape[1], dtype=b.dtype)], dim=1)
    return a, b


def shapes(pair: Pair, rank: int) -> Tuple[Tuple[int, int], Tuple[int, int]]:
    if pair.fused is None:
        return (rank, pair.a.shape[1]), (pair.b.shape[0], rank)
    fused, _, _, _, rows = pair.fused
    return (rank, fused.columns), (rows, rank)


def write(
    adapter: Adapter, raw: Mapping[str, Any], made: List[Pair], weights: str, folder: str
) -> Dict[str, Any]:
    """Writes adapter_model.safetensors and adapter_config.json; the config."""
    rank, alpha = most_of(adapter), adapter.config.alpha
    scale = alpha / rank**0.5 if raw.get("use_rslora") else alpha / rank
    targets = sorted({pair.name.rpartition(".")[2] for pair in made})
    config = {**CONFIG, "r": rank, "lora_alpha": int(alpha) if alpha == int(alpha) else alpha,
              "use_rslora": bool(raw.get("use_rslora")), "target_modules": targets,
              "task_type": raw.get("task_type"),
              "base_model_name_or_path": raw.get("base_model_name_or_path")}  # fmt: skip
    with open(os.path.join(folder, "adapter_config.json"), "w", encoding="utf-8") as text:
        json.dump(config, text, indent=2, sort_keys=True)
    _write_tensors(made, rank, scale, weights, os.path.join(folder, "adapter_model.safetensors"))
    return config


def _write_tensors(made: List[Pair], rank: int, scale: float, weights: str, path: str) -> None:
    import torch

    names = [
        ("%s%s.%s.weight" % (parts.PREFIX, pair.name, half), tensor.dtype, shape)
        for pair in made
        for half, shape, tensor in zip(("lora_A", "lora_B"), shapes(pair, rank), (pair.a, pair.b))
    ]
    head, places = make_header(names)
    source = os.open(weights, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with open(path, "wb") as file:
            file.write(head)
            file.flush()
            for number, pair in enumerate(made):
                for values, place in zip(halves(pair, source, rank, scale), places[2 * number :]):
                    low = values.to(getattr(torch, DTYPES[place.dtype])).contiguous().reshape(-1)
                    write_at(file.fileno(), memoryview(low.view(torch.uint8).numpy()), place.begin)
            os.fsync(file.fileno())
    finally:
        os.close(source)


def furthest(
    made: List[Pair], weights: str, converted: List[Tensor], path: str, rank: int, scale: float
) -> float:
    """‖s'·B'·A' - s·B·A‖ / ‖s·B·A‖ of the module where it is largest, read back from disk."""
    there = {tensor.name: tensor for tensor in converted}
    old, new = os.open(weights, os.O_RDONLY), os.open(path, os.O_RDONLY)
    worst = 0.0
    try:
        for pair in made:
            a, b = halves(pair, old, rank, scale)
            name = "%s%s" % (parts.PREFIX, pair.name)
            tensors = [there[name + suffix] for suffix in (".lora_A.weight", ".lora_B.weight")]
            c, d = (rows_of(new, t, 0, t.shape[0], t.shape[1]).double() for t in tensors)
            # ‖BA‖² = tr(BᵀB·AAᵀ): no matrix of the base's size is made.
            size = float(((b.T @ b) * (a @ a.T)).sum()) ** 0.5
            off = float(((d - b).norm() * c.norm() + b.norm() * (c - a).norm()))
            worst = max(worst, off / size if size else off)
    finally:
        os.close(old)
        os.close(new)
    return worst
