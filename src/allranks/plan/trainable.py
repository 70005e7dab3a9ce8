"""The trained parameters for each `finetuning_type` of LLaMA-Factory (0.9.5, `model/adapter.py`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from allranks.core import BLOCK, UNKNOWN, Finding
from allranks.plan.lora import Trained, split, trained_by_lora
from allranks.plan.model import Model
from allranks.plan.setting import Setting
from allranks.plan.target_names import handed_over, linear_leaves
from allranks.plan.targets import KEY, pattern_finding, target_findings
from allranks.plan.vision_parts import USUAL, Freeze, frozen_pieces, has_piece, parts_of
from allranks.spec import Run

_NUMBERED = re.compile(r"\.\d+\.")


def trained_by(model: Model, setting: Setting, run: Run, findings: list[Finding]) -> Trained | None:
    """The parameters that the run trains; None if they are unknown. Errors are appended to `findings`."""
    if setting.method == "full":
        return trained_fully(model, setting.freeze)
    if setting.method == "freeze":
        return _frozen(model, setting.freeze, run, findings)
    if setting.lora is None:
        findings.append(
            Finding(
                id="finetuning-type-unknown",
                verdict=UNKNOWN,
                where=run.where("train.llamafactory.finetuning_type"),
                saw=f"finetuning_type: {setting.method} is not planned here",
                expected="lora, full or freeze",
                why="trainable parameters and memory are unknown.",
                fix="finetuning_type: lora, or --accept finetuning-type-unknown",
            )
        )
        return None
    try:
        trained = trained_by_lora(model, *handed_over(model, setting.lora, setting.freeze))
    except ValueError as error:
        findings.append(
            Finding(
                id="lora-targets-missing",
                verdict=BLOCK,
                where=run.where(KEY),
                saw=f"{KEY}: {error}",
                expected=f"names among {', '.join(linear_leaves(model, setting.freeze))}",
                why="nothing would train.",
                fix=f"lora_target: {','.join(linear_leaves(model, setting.freeze))}",
            )
        )
        return None
    findings += target_findings(run, model, setting.lora, trained, setting.freeze)
    findings += pattern_finding(run, setting.lora, trained)
    return trained


def trained_fully(model: Model, freeze: Freeze = USUAL) -> Trained:
    """The base itself, without the frozen parts of a vision-language model."""
    without = frozen_pieces(model, freeze)
    return _of_base(model, lambda name: not has_piece(name, without))


def _of_base(model: Model, trains: Callable[[str], bool]) -> Trained:
    """The base's own tensors of which `trains` says that they train."""
    tensors = tuple(
        (f"{m.name}.{name}", shape)
        for m in model.modules
        if not m.shared
        for name, shape in m.tensors
        if trains(f"{m.name}.{name}")
    )
    count = sum(prod(shape) for _, shape in tensors)
    return Trained(count, tensors, tuple(dict.fromkeys(name.rpartition(".")[0] for name, _ in tensors)))


def _frozen(model: Model, freeze: Freeze, run: Run, findings: list[Finding]) -> Trained | None:
    """`freeze`: the last (or, negative, the first) layers, by names of their parts, plus modules outside them, and a
    projector that is not frozen. Blocks of a vision tower have numbers, too; they train with the layers of the same
    number unless the tower is frozen."""
    arguments = run.train.arguments
    wanted, unknown = _freeze_wanted(model, arguments)
    if unknown:
        findings.append(
            Finding(
                id="freeze-modules-missing",
                verdict=BLOCK,
                where=run.where("train.llamafactory.freeze_trainable_modules"),
                saw=f"{', '.join(unknown)} exist in no {model.family} layer",
                expected=f"names among {', '.join(sorted(_inside(model)))}",
                why="LLaMA-Factory raises ValueError, after the model was loaded.",
                fix=f"freeze_trainable_modules: {','.join(sorted(_inside(model)))}",
            )
        )
        return None
    parts = parts_of(model)
    if parts is not None and not freeze.projector:
        wanted += parts.projector
    without = frozen_pieces(model, freeze)
    return _of_base(model, lambda name: has_piece(name, wanted) and not has_piece(name, without))


def _inside(model: Model) -> set[str]:
    """First names inside a layer (`self_attn`, `mlp`, norms), as LLaMA-Factory collects them: from the first block of
    each list, else the second."""
    found = set()
    for name in _tensor_names(model):
        number = next((piece for piece in (".0.", ".1.") if piece in name), None)
        if number:
            found.add(name.split(number)[-1].split(".")[0])
    return found


def _tensor_names(model: Model) -> list[str]:
    return [f"{m.name}.{tensor}" for m in model.modules if not m.shared for tensor, _ in m.tensors]


def _freeze_wanted(model: Model, arguments: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    count = int(arguments.get("freeze_trainable_layers") or 2)
    layers = (
        range(max(0, model.layers - count), model.layers) if count > 0 else range(min(-count, model.layers))
    )
    names = split(arguments.get("freeze_trainable_modules") or "all")
    extra = split(arguments.get("freeze_extra_modules"))
    outside = {name.split(".")[-2] for name in _tensor_names(model) if not _NUMBERED.search(name)}
    unknown = [n for n in names if n != "all" and n not in _inside(model)] + [
        n for n in extra if n not in outside
    ]
    wanted = [f".{index}.{'' if name == 'all' else name}" for index in layers for name in names]
    return [*wanted, *extra], unknown
