"""The trained parameters for each `finetuning_type` of LLaMA-Factory (0.9.5, `model/adapter.py`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Any

from allranks.core import BLOCK, UNKNOWN, Finding
from allranks.plan.lora import Trained, linear_names, split, trained_by_lora
from allranks.plan.model import Model
from allranks.plan.setting import Setting
from allranks.plan.targets import KEY, pattern_finding, target_findings
from allranks.spec import Run


def trained_by(model: Model, setting: Setting, run: Run, findings: list[Finding]) -> Trained | None:
    """The parameters that the run trains; None if they are unknown. Errors are appended to `findings`."""
    if setting.method == "full":
        return trained_fully(model)
    if setting.method == "freeze":
        return _frozen(model, run, findings)
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
        trained = trained_by_lora(model, setting.lora)
    except ValueError as error:
        findings.append(
            Finding(
                id="lora-targets-missing",
                verdict=BLOCK,
                where=run.where(KEY),
                saw=f"{KEY}: {error}",
                expected=f"names among {', '.join(linear_names(model))}",
                why="nothing would train.",
                fix=f"lora_target: {','.join(linear_names(model))}",
            )
        )
        return None
    findings += target_findings(run, model, setting.lora, trained)
    findings += pattern_finding(run, setting.lora, trained)
    return trained


def trained_fully(model: Model) -> Trained:
    tensors = tuple(
        (f"{m.name}.{name}", shape) for m in model.modules if not m.shared for name, shape in m.tensors
    )
    return Trained(model.total_parameters, tensors, tuple(m.name for m in model.modules))


def _frozen(model: Model, run: Run, findings: list[Finding]) -> Trained | None:
    """`freeze`: the last (or, negative, the first) layers, by names of their parts, plus modules outside them."""
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
    tensors = tuple(
        (f"{m.name}.{name}", shape)
        for m in model.modules
        if not m.shared
        for name, shape in m.tensors
        if any(part in f"{m.name}.{name}" for part in wanted)
    )
    count = sum(prod(shape) for _, shape in tensors)
    return Trained(count, tensors, tuple(dict.fromkeys(name.rpartition(".")[0] for name, _ in tensors)))


def _inside(model: Model) -> set[str]:
    """First names inside a layer (`self_attn`, `mlp`, norms), as LLaMA-Factory collects them."""
    return {
        re.split(r"\.\d+\.", m.name, maxsplit=1)[-1].split(".")[0]
        for m in model.modules
        if m.layer is not None
    }


def _freeze_wanted(model: Model, arguments: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    count = int(arguments.get("freeze_trainable_layers") or 2)
    layers = (
        range(max(0, model.layers - count), model.layers) if count > 0 else range(min(-count, model.layers))
    )
    names = split(arguments.get("freeze_trainable_modules") or "all")
    extra = split(arguments.get("freeze_extra_modules"))
    outside = {m.leaf for m in model.modules if m.layer is None}
    unknown = [n for n in names if n != "all" and n not in _inside(model)] + [
        n for n in extra if n not in outside
    ]
    wanted = [f".{index}.{'' if name == 'all' else name}" for index in layers for name in names]
    return [*wanted, *extra], unknown
