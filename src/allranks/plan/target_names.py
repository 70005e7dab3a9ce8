"""The LoRA targets that LLaMA-Factory hands to PEFT for a vision-language model: the full names of modules."""

from __future__ import annotations

import dataclasses
import re

from allranks.plan.lora import ALL_LINEAR, Lora, is_pattern, linear_names
from allranks.plan.model import LINEAR, Model
from allranks.plan.vision_parts import Freeze, adapted, all_linear, frozen_pieces, has_piece, parts_of


def handed_over(model: Model, lora: Lora, freeze: Freeze) -> tuple[Lora, tuple[str, ...]]:
    """(the LoRA with the targets that PEFT gets, the targets of the user that match nothing that may train).

    Other models get their targets as they are. A regular expression becomes the names that it matches, as
    `pattern_finding` reports, without those of frozen parts. Raises ValueError if it is not valid.
    """
    if parts_of(model) is None:
        return lora, ()
    if lora.targets == "all":
        return dataclasses.replace(lora, targets=adapted(model, all_linear(model, freeze), freeze)), ()
    if isinstance(lora.targets, str) and lora.targets != ALL_LINEAR and is_pattern(lora.targets):
        return dataclasses.replace(lora, targets=_matching(model, lora.targets, freeze)), ()
    asked = (lora.targets,) if isinstance(lora.targets, str) else lora.targets
    missing = tuple(one for one in asked if not adapted(model, (one,), freeze))
    return dataclasses.replace(lora, targets=adapted(model, asked, freeze)), missing


def _matching(model: Model, pattern: str, freeze: Freeze) -> tuple[str, ...]:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
    without = frozen_pieces(model, freeze)
    return tuple(
        m.name for m in model.modules if compiled.fullmatch(m.name) and not has_piece(m.name, without)
    )


def linear_leaves(model: Model, freeze: Freeze) -> tuple[str, ...]:
    """Last names of the Linear modules that a LoRA can adapt, in the model's order."""
    if parts_of(model) is None:
        return linear_names(model)
    able = set(adapted(model, [m.name for m in model.modules if m.kind == LINEAR], freeze))
    leaves = (m.leaf for m in model.modules if m.name in able and "lm_head" not in m.name)
    return tuple(dict.fromkeys(leaves))
