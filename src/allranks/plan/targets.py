"""The finding for LoRA targets that exist in no layer. Its fix is the nearest list of targets that do exist."""

from __future__ import annotations

import dataclasses
import difflib

from allranks.core import BLOCK, WARN, Finding
from allranks.plan.lora import Lora, Trained, is_pattern, trained_by_lora
from allranks.plan.model import Model
from allranks.plan.target_names import handed_over, linear_leaves
from allranks.plan.vision_parts import USUAL, Freeze, parts_of
from allranks.spec import Run

KEY = "train.llamafactory.lora_target"

# The role of a projection → the names that families and older code give it. A name with two roles is fused.
_ROLES = {
    "q": ("q_proj", "q_a_proj", "q_b_proj", "wq", "query", "q"),
    "k": ("k_proj", "wk", "key", "k"),
    "v": ("v_proj", "wv", "value", "v"),
    "kv": ("kv_a_proj_with_mqa", "kv_b_proj", "kv_proj", "wkv"),
    "qkv": ("qkv_proj", "query_key_value", "W_pack", "c_attn", "Wqkv", "qkv", "in_proj"),
    "o": ("o_proj", "out_proj", "wo", "dense", "c_proj", "o"),
    "gate": ("gate_proj", "w1"),
    "up": ("up_proj", "w3", "fc1", "dense_h_to_4h", "c_fc"),
    "down": ("down_proj", "w2", "fc2", "dense_4h_to_h"),
    "gateup": ("gate_up_proj", "w13"),
}
_LETTERS = {"q": "q", "k": "k", "v": "v", "kv": "kv", "qkv": "qkv", "o": "o"}
_WORDS = {"gate": ("gate",), "up": ("up",), "down": ("down",), "gateup": ("gate", "up")}


def _roles(name: str) -> set[str]:
    leaf = name.rpartition(".")[2]
    for role, names in _ROLES.items():
        if leaf in names:
            return set(_LETTERS.get(role, "")) | set(_WORDS.get(role, ()))
    return set()


def nearest_targets(
    model: Model, asked: tuple[str, ...], missing: tuple[str, ...], freeze: Freeze = USUAL
) -> tuple[str, ...]:
    """The asked names that exist, and for each other one the model's own names of the same role; where a name
    has no known role, the most alike. In the model's order; all attention projections if nothing is near."""
    valid = linear_leaves(model, freeze)
    chosen = {name for name in asked if name not in missing}
    for name in missing:
        roles = _roles(name)
        same = [other for other in valid if roles & _roles(other)] if roles else []
        if not same:
            same = difflib.get_close_matches(name.rpartition(".")[2], valid, n=1, cutoff=0.6)
        chosen.update(same)
    order = {name: position for position, name in enumerate(valid)}
    known = sorted(chosen, key=lambda name: order.get(name.rpartition(".")[2], len(order)))
    if known:
        return tuple(known)
    return tuple(name for name in valid if _roles(name) & set("qkvo"))


def target_findings(
    run: Run, model: Model, lora: Lora, trained: Trained, freeze: Freeze = USUAL
) -> list[Finding]:
    findings: list[Finding] = []
    if trained.missing or not trained.parameters:
        findings.append(_missing(run, model, lora, trained, freeze))
    if trained.unsupported:
        findings.append(_unsupported(run, model, trained, freeze))
    return findings


def _missing(run: Run, model: Model, lora: Lora, trained: Trained, freeze: Freeze) -> Finding:
    asked = (lora.targets,) if isinstance(lora.targets, str) else lora.targets
    of_targets = tuple(name for name in trained.missing if name in asked)
    missing = trained.missing or asked
    names = ", ".join(missing)
    plural = len(missing) > 1
    if of_targets or not trained.missing:
        remedy = nearest_targets(
            model, () if isinstance(lora.targets, str) else lora.targets, missing, freeze
        )
        better = trained_by_lora(
            model, *handed_over(model, dataclasses.replace(lora, targets=remedy), freeze)
        )
        fix, expected = f"lora_target: {','.join(remedy)}", f"{better.parameters:,}"
    else:
        parameters = sorted(
            {f"{m.leaf}.{t}" for m in model.modules if m.expert for t, _ in m.tensors if len(_) == 3}
        )
        fix = f"name what there is: {', '.join(parameters) or ', '.join(linear_leaves(model, freeze))}"
        expected = "more"
    return Finding(
        id="lora-targets-missing",
        verdict=BLOCK,
        where=run.where(KEY),
        saw=f"{KEY}: {names} {'exist' if plural else 'exists'} in no {_place(model)}.",
        expected=f"names among {', '.join(linear_leaves(model, freeze))}",
        why=_consequence(trained, expected),
        fix=fix,
    )


def _place(model: Model) -> str:
    return (
        f"{model.family} layer" if parts_of(model) is None else f"part of {model.family} that is not frozen"
    )


def _consequence(trained: Trained, expected: str) -> str:
    if not trained.parameters:
        return f"nothing would train: 0 parameters instead of {expected}."
    leaves = ", ".join(trained.leaves) or "what is left"
    return f"only {leaves} would train: {trained.parameters:,} parameters instead of {expected}."


def _unsupported(run: Run, model: Model, trained: Trained, freeze: Freeze) -> Finding:
    kinds = tuple(dict.fromkeys(name.rpartition(".")[2] for name in trained.unsupported))
    return Finding(
        id="lora-target-unsupported",
        verdict=BLOCK,
        where=run.where(KEY),
        saw=f"{KEY}: {', '.join(kinds)} of {model.family} is not a Linear layer ({trained.unsupported[0]}).",
        expected=f"names among {', '.join(linear_leaves(model, freeze))}",
        why="PEFT raises ValueError, after the model was loaded.",
        fix=f"lora_target: {','.join(trained.leaves or linear_leaves(model, freeze))}",
    )


def pattern_finding(run: Run, lora: Lora, trained: Trained) -> list[Finding]:
    """LLaMA-Factory splits `lora_target` at commas and hands PEFT a list, in which a pattern is only a name."""
    if not isinstance(lora.targets, str) or not is_pattern(lora.targets) or not trained.matched:
        return []
    return [
        Finding(
            id="lora-target-pattern",
            verdict=WARN,
            where=run.where(KEY),
            saw=f"{KEY}: {lora.targets} is a regular expression.",
            expected="names or suffixes",
            why="LLaMA-Factory hands PEFT a list of names, in which an expression matches nothing; "
            f"the {len(trained.matched)} modules that it matches are handed over by name.",
            fix=f"lora_target: {','.join(trained.leaves)}",
        )
    ]
