"""The parts of vision-language models as LLaMA-Factory knows them, and which of them it freezes.

Source: LLaMA-Factory 0.9.5, `model/model_utils/visual.py` (`COMPOSITE_MODELS`, `get_forbidden_modules`,
`patch_target_modules`), `model/model_utils/misc.py` (`find_all_linear_modules`) and `model/adapter.py`. It compares
pieces of names: a part holds every module whose name contains one of the part's keys. A model that is not in its table
has no parts for it, so nothing of that model is frozen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from allranks.plan.model import LINEAR, Model
from allranks.spec.trainer_yaml import is_on


@dataclass(frozen=True)
class Parts:
    """Pieces of names, for each part. LoRA never adapts modules with a piece of `never_adapted`."""

    projector: tuple[str, ...] = ("multi_modal_projector",)
    vision: tuple[str, ...] = ("vision_tower",)
    language: tuple[str, ...] = ("language_model", "lm_head")
    never_adapted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Freeze:
    """The parts that are frozen: LLaMA-Factory's `freeze_vision_tower`, `freeze_multi_modal_projector` and
    `freeze_language_model`, with its defaults."""

    vision: bool = True
    projector: bool = True
    language: bool = False


USUAL = Freeze()
"""LLaMA-Factory's defaults."""

_WHOLE = Parts()
_BLOCKS = ("visual.patch_embed", "visual.blocks")
_POSITIONS = ("visual.pos_embed", *_BLOCKS)
_DEEPSTACK = (*_POSITIONS, "visual.deepstack_merger_list")
_PATCHED = ("patch_embed",)
_MERGED = Parts(("visual.merger",), _BLOCKS, never_adapted=_PATCHED)
_QWEN3 = Parts(("visual.merger",), _DEEPSTACK, never_adapted=_PATCHED)
_QWEN3_5 = Parts(("model.visual.merger",), _POSITIONS, never_adapted=_PATCHED)
_OUTER = ("model", "lm_head")
_HEARING = ("visual.merger", "audio_tower.proj")
_MINICPMO = ("vpm", "apm", "audio_avg_pooler", "audio_projection_layer", "tts")
_TOWERS = ("vision_tower", "audio_tower")

PARTS: Mapping[str, Parts] = {
    **dict.fromkeys(("gemma3", "internvl", "interns1", "kimi_vl", "paligemma"), _WHOLE),
    **dict.fromkeys(("llava", "llava_next", "llava_next_video", "video_llava"), _WHOLE),
    **dict.fromkeys(("llama4", "mllama"), Parts(vision=("vision_model",))),
    **dict.fromkeys(("glm4v", "glm4v_moe", "glm_ocr", "qwen2_vl", "qwen2_5_vl"), _MERGED),
    **dict.fromkeys(("qwen3_vl", "qwen3_vl_moe"), _QWEN3),
    **dict.fromkeys(("qwen3_5", "qwen3_5_moe"), _QWEN3_5),
    "mistral3": Parts(("model.multi_modal_projector",)),
    "dots_ocr": Parts(("vision_tower.merger",), ("vision_tower",), _OUTER, ("merger",)),
    "gemma3n": Parts(vision=_TOWERS, never_adapted=("timm_model", "subsample_conv_projection")),
    "gemma4": Parts(
        ("model.embed_vision", "model.embed_audio"), _TOWERS, never_adapted=("per_layer_projection_norm",)
    ),
    "Keye": Parts(
        ("mlp_AR",),
        ("visual.vision_model.patch_embedding", "visual.vision_model.encoder"),
        _OUTER,
        ("patch_embedding",),
    ),
    "minicpmv": Parts(("resampler",), ("vpm",), ("llm",)),
    "minicpmv4_6": Parts(("model.merger",), ("model.vision_tower",), ("model.language_model", "lm_head")),
    "minicpmo": Parts(("resampler",), _MINICPMO, ("llm",), ("audio_projection_layer",)),
    "qwen2_audio": Parts(vision=("audio_tower",)),
    "qwen2_5_omni_thinker": Parts(_HEARING, (*_BLOCKS, "audio_tower"), _OUTER, _PATCHED),
    "qwen3_omni_moe_thinker": Parts(_HEARING, (*_DEEPSTACK, "audio_tower"), never_adapted=_PATCHED),
}
"""By `model_type`. A test compares the table with LLaMA-Factory's."""


def freeze_of(arguments: Mapping[str, Any]) -> Freeze:
    return Freeze(
        vision=is_on(arguments.get("freeze_vision_tower", True)),
        projector=is_on(arguments.get("freeze_multi_modal_projector", True)),
        language=is_on(arguments.get("freeze_language_model", False)),
    )


def parts_of(model: Model) -> Parts | None:
    """The parts that LLaMA-Factory knows of this model; None if it knows none."""
    return PARTS.get(model.family)


def frozen_pieces(model: Model, freeze: Freeze) -> tuple[str, ...]:
    """Pieces of the names that do not train."""
    parts = parts_of(model)
    if parts is None:
        return ()
    found = parts.vision if freeze.vision else ()
    found += parts.projector if freeze.projector else ()
    return found + (parts.language if freeze.language else ())


def has_piece(name: str, pieces: Iterable[str]) -> bool:
    return any(piece in name for piece in pieces)


def all_linear(model: Model, freeze: Freeze) -> tuple[str, ...]:
    """What `lora_target: all` stands for: the last names of the Linear modules outside the head, the projector and,
    if it is frozen, the vision tower. In the model's order."""
    parts = parts_of(model)
    without = ("lm_head",)
    if parts is not None:
        without += parts.projector + (parts.vision if freeze.vision else ())
    leaves = (m.leaf for m in model.modules if m.kind == LINEAR and not has_piece(m.name, without))
    return tuple(dict.fromkeys(leaves))


def adapted(model: Model, targets: Iterable[str], freeze: Freeze) -> tuple[str, ...]:
    """The full names that LLaMA-Factory hands to PEFT in place of `targets`: every module of the trained parts whose
    name contains a target. Modules that hold others are among them, as in its own list."""
    parts = parts_of(model)
    without = frozen_pieces(model, freeze) + (parts.never_adapted if parts else ())
    names = [*(m.name for m in model.modules), *sorted(model.containers())]
    wanted = tuple(targets)
    return tuple(name for name in names if has_piece(name, wanted) and not has_piece(name, without))
