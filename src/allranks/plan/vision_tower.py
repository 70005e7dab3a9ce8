"""The memory of a vision tower's activations, for as many patches as the sequence can hold image tokens.

Sources: transformers 5.6 (`modeling_*.py` of the families below), torch's saved tensors, LLaMA-Factory 0.9.5
(`model/model_utils/checkpointing.py`: only blocks with trained parameters are checkpointed) and PEFT 0.18.1
(`peft_model.py`: with gradient checkpointing a LoRA makes the outputs of all embeddings require gradients; in
transformers 5 those of the patches of most towers, too). Then each block of a frozen tower keeps all that its backward
needs. LLaMA-Factory counts image tokens in `cutoff_len`; a family's tower makes a fixed number of patches per token.
`tests/plan/test_vision_memory.py` compares the numbers with torch's allocations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allranks.plan.lora import Trained
from allranks.plan.model import LINEAR, NORM, Images, Model, Module
from allranks.plan.setting import Setting

COUNTED = (
    *("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"),
    *("llava", "gemma3", "paligemma"),
)
"""The families whose towers were compared with torch's allocations."""

_BLOCK = re.compile(r"^.*?\.\d+\.")
_OUTPUT = ("proj", "out_proj", "o_proj")


@dataclass(frozen=True)
class Tower:
    """Bytes on one rank for one micro-batch, at most: `kept` until the tower's backward, `added` while a block runs."""

    kept: float
    added: float


def images_of(family: str, config: Mapping[str, Any]) -> Images | None:
    """Reads the configuration of a counted family; None for another one, or if a value is missing. `config` has the
    model's own values, with those of its tower under `vision`."""
    vision = config.get("vision") or {}
    try:
        if family not in COUNTED:
            return None
        patch = int(vision["patch_size"])
        pixels = 3 * patch * patch * int(vision.get("temporal_patch_size") or 1)
        doubled = str(vision.get("hidden_act")) == "quick_gelu"
        hooked = bool(config.get("hooked", True))
        if family.startswith("qwen"):
            return Images(int(vision["spatial_merge_size"]) ** 2, pixels, doubled, hooked)
        patches = (int(vision["image_size"]) // patch) ** 2
        if family == "gemma3":
            return Images(patches / int(config["mm_tokens_per_image"]), pixels, doubled, hooked)
        return Images((patches + 1) / patches, pixels, doubled, hooked)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def tower_of(model: Model, trained: Trained | None, setting: Setting, zero3: bool) -> Tower | None:
    """The tower's activations if every token of the sequences is an image's; None if they cannot be counted (a family
    that is not known here, attention that keeps all scores)."""
    images = model.images
    if images is None or setting.attention == "disabled":
        return None
    towers, outside = _blocks(model)
    if not towers:
        return None
    names = set(trained.matched) if trained else set()
    is_lora = setting.method == "lora"
    trains = any(module.name in names for inside in towers for module in inside)
    asked = is_lora and setting.checkpointing and setting.quantization_bits is None
    has_backward = trains or (asked and images.hooked)
    width = setting.weight_bytes
    rank = setting.lora.rank if setting.lora else 0
    adapted = dict.fromkeys(names if is_lora else (), rank)
    block = _Block(width, zero3 or (trains and not is_lora), images.doubled, adapted)
    tokens = setting.rows * setting.cutoff
    patches = tokens * images.patches_per_token
    hidden = max(_rows(module) for inside in towers for module in inside if module.kind == NORM)
    inner = max(_rows(module) for inside in towers for module in inside if module.kind == LINEAR)
    sizes = [block.kept(inside) for inside in towers]
    if not has_backward:
        kept = 0.0
    elif trains and setting.checkpointing:
        kept = len(towers) * width * hidden
    else:
        kept = sum(sizes)
    merged = sum(
        width * (_rows(m) + _columns(m))
        for m in outside
        if m.kind == LINEAR and (trains or ".head." not in m.name)
    )
    added = max(
        19 * width * hidden, 3 * width * inner
    )  # rotating q and k in float32; the activation function
    if has_backward:
        added = max(added, max(sizes) + 3 * width * inner + (12 + 2 * width) * hidden)
    pictures = images.pixels * (4 + width)
    return Tower((kept + pictures) * patches + merged * tokens, added * patches)


def _blocks(model: Model) -> tuple[list[list[Module]], list[Module]]:
    """(the tower's blocks, which have attention; the other modules outside the language model)."""
    groups: dict[str, list[Module]] = {}
    for module in model.modules:
        if model.is_vision(module):
            found = _BLOCK.match(module.name)
            groups.setdefault(found.group() if found else "", []).append(module)
    towers = [inside for key, inside in groups.items() if key and any(map(_is_attention, inside))]
    return towers, [module for inside in groups.values() if inside not in towers for module in inside]


def _rows(module: Module) -> int:
    return module.tensors[0][1][0]


def _columns(module: Module) -> int:
    return module.tensors[0][1][-1]


def _is_attention(module: Module) -> bool:
    return "attn" in module.name or "attention" in module.name


@dataclass(frozen=True)
class _Block:
    """`keeps` says that each Linear keeps its input; `adapted` maps the names of modules with a LoRA to its rank."""

    width: float
    keeps: bool
    doubled: bool
    adapted: Mapping[str, int]

    def kept(self, modules: list[Module]) -> float:
        """Bytes per patch of one block: its norms' inputs, q, k, v and the result of attention, what the activation
        function and a gate's product keep, and inputs of Linears."""
        linears = [module for module in modules if module.kind == LINEAR]
        norms = [module for module in modules if module.kind == NORM]
        kept = sum((self.width if len(m.tensors) > 1 else 4) * _rows(m) + 8 for m in norms)
        attention = [module for module in linears if _is_attention(module)]
        feed = [module for module in linears if not _is_attention(module)]
        before = [module for module in attention if module.leaf not in _OUTPUT]
        size = max(map(_columns, attention), default=0)
        kept += self.width * sum(map(_rows, before)) + 64
        kept += self.width * size * (3 if len(before) == 1 else 1)  # the result, and rotated q and k
        inner = max(map(_rows, feed), default=0)
        kept += self.width * inner * (3 if len(feed) > 2 else 2 if self.doubled else 1)
        if self.keeps:
            kept += self.width * (2 * size + inner)
        adapted = [module for module in linears if module.name in self.adapted]
        return kept + sum(4 * (_columns(module) + self.adapted[module.name]) for module in adapted)
