"""The parameters that a LoRA trains: matches the targets as PEFT does, and counts the trainable parameters exactly.

Source of the rules: PEFT 0.18.1 (`tuners/tuners_utils.py`: `check_target_module_exists`,
`_maybe_include_all_linear_layers`, `_inject_parameters`; `utils/other.py`: `_set_trainable`;
`tuners/lora/layer.py`) and LLaMA-Factory 0.9.5 (`model/adapter.py`, `model/model_utils/misc.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from allranks.plan.model import CONVOLUTION, EMBEDDING, LINEAR, Model, Module
from allranks.spec.trainer_yaml import is_on

ALL_LINEAR = "all-linear"

Tensor = tuple[str, tuple[int, ...]]
"""A tensor's name and shape."""
_META = re.compile(r"\\.|[\[\](){}*+?^$|]")


@dataclass(frozen=True)
class Lora:
    """A LoRA as asked for. `targets` is a tuple of names or suffixes, or a string: a regular expression,
    `all` (LLaMA-Factory's: every name of a Linear) or `all-linear` (PEFT's: every Linear but the head)."""

    rank: int = 8
    alpha: float = 16
    targets: tuple[str, ...] | str = "all"
    parameters: tuple[str, ...] = ()
    save: tuple[str, ...] = ()
    exclude: tuple[str, ...] | str = ()
    dora: bool = False
    rslora: bool = False


@dataclass(frozen=True)
class Trained:
    """The trained parameters of one model. `missing` are targets that exist nowhere in it, `unsupported` are modules
    that match but that PEFT cannot adapt (it raises). `tensors` are (name, shape) of everything that trains."""

    parameters: int
    tensors: tuple[Tensor, ...]
    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()


def trains_experts(model: Model, trained: Trained) -> bool:
    """Whether a routed expert's own tensor trains, or a LoRA on it does."""
    inside = tuple(f"{module.name}." for module in model.modules if module.expert)
    return any(name.startswith(inside) for name, _ in trained.tensors)


def is_pattern(text: str) -> bool:
    """Whether a target is a regular expression and not a name: a name has only letters, digits, `_`, `-`, `.`."""
    return _META.search(text) is not None


def split(value: Any) -> tuple[str, ...]:
    """A comma-separated string or a list as a tuple of names; empty for None."""
    if value is None:
        return ()
    parts: Iterable[Any] = value.split(",") if isinstance(value, str) else value
    return tuple(str(part).strip() for part in parts if str(part).strip())


def targets_of(value: Any) -> tuple[str, ...] | str:
    """`lora_target` as written: names, or one string if it is `all`, `all-linear` or a regular expression."""
    if isinstance(value, str) and is_pattern(value):
        return value.strip()
    names = split(value)
    if len(names) == 1 and (names[0] in ("all", ALL_LINEAR) or is_pattern(names[0])):
        return names[0]
    return names


def lora_of(arguments: Mapping[str, Any]) -> Lora:
    """The LoRA that LLaMA-Factory's arguments ask for, with its defaults."""
    rank = int(arguments.get("lora_rank") or 8)
    alpha = arguments.get("lora_alpha")
    parameters = arguments.get("lora_parameters") or arguments.get("target_parameters")
    save = arguments.get("additional_target") or arguments.get("modules_to_save")
    target = arguments.get("lora_target")
    if target is None:
        target = () if parameters else "all"
    return Lora(
        rank=rank,
        alpha=float(alpha) if alpha is not None else 2.0 * rank,
        targets=targets_of(target),
        parameters=split(parameters),
        save=split(save),
        dora=is_on(arguments.get("use_dora")),
        rslora=is_on(arguments.get("use_rslora")),
    )


def linear_names(model: Model) -> tuple[str, ...]:
    """Last names of all Linear modules but the head, in the model's order: LLaMA-Factory's `all`."""
    names = (m.leaf for m in model.modules if m.kind == LINEAR and "lm_head" not in m.name)
    return tuple(dict.fromkeys(names))


def _matcher(lora: Lora, model: Model):
    """A function name → whether PEFT adapts the module of that name."""
    targets = lora.targets
    if targets == "all":
        targets = linear_names(model)
    elif targets == ALL_LINEAR:
        whole = {m.name for m in model.modules if m.kind == LINEAR and m.name != model.head}
        return whole.__contains__
    if isinstance(targets, str):
        compiled = re.compile(targets)
        return lambda name: compiled.fullmatch(name) is not None
    exact, suffixes = set(targets), tuple(f".{target}" for target in targets)
    return lambda name: name in exact or name.endswith(suffixes)


def _excluded(lora: Lora):
    save = [re.compile(rf"(^|.*\.){name}($|\..*)") for name in lora.save]
    if isinstance(lora.exclude, str):
        pattern = re.compile(lora.exclude)
        return lambda name: pattern.fullmatch(name) is not None or any(p.match(name) for p in save)
    exact, suffixes = set(lora.exclude), tuple(f".{name}" for name in lora.exclude)
    return lambda name: name in exact or name.endswith(suffixes) or any(p.match(name) for p in save)


def _adapter(lora: Lora, module: Module) -> list[Tensor]:
    """Tensors that LoRA adds to a Linear, a convolution or an Embedding: A is (r, in), B is (out, r); A of a
    convolution has its kernel, too. DoRA adds one magnitude an output (arXiv 2402.09353; for an
    embedding one a dimension)."""
    rows, columns, *kernel = dict(module.tensors)["weight"]
    rank, name = lora.rank, module.name
    if module.kind == EMBEDDING:
        tensors: list[Tensor] = [
            (f"{name}.lora_embedding_A", (rank, rows)),
            (f"{name}.lora_embedding_B", (columns, rank)),
        ]
        magnitude = columns
    else:
        single = (1,) * len(kernel)
        tensors = [
            (f"{name}.lora_A.weight", (rank, columns, *kernel)),
            (f"{name}.lora_B.weight", (rows, rank, *single)),
        ]
        magnitude = rows
    if lora.dora:
        tensors.append((f"{name}.lora_magnitude_vector", (magnitude,)))
    return tensors


def _parameter_adapter(lora: Lora, module: Module, tensor: str) -> list[Tensor] | None:
    """Tensors that LoRA adds to one bare parameter (`ParamWrapper`): for (experts, in, out), A is
    (r·experts, in) and B is (out, r·experts). None if PEFT refuses the shape."""
    shape = dict(module.tensors)[tensor]
    if len(shape) == 3:
        count, inputs, outputs = shape
    elif len(shape) == 2:
        count, (outputs, inputs) = 1, shape
    else:
        return None
    name = f"{module.name}.{tensor}"
    rank = lora.rank * count
    return [(f"{name}.lora_A.weight", (rank, inputs)), (f"{name}.lora_B.weight", (outputs, rank))]


def _asked(lora: Lora) -> tuple[str, ...]:
    return () if isinstance(lora.targets, str) else lora.targets


def trained_by_lora(model: Model, lora: Lora, unmatched: tuple[str, ...] = ()) -> Trained:
    """Every tensor that trains under this LoRA. `unmatched` are targets that were found to exist nowhere before the
    others became these names. Raises ValueError if the regular expression is not valid."""
    try:
        matches, excluded = _matcher(lora, model), _excluded(lora)
    except re.error as error:
        raise ValueError(f"{lora.targets!r} is not a regular expression: {error}") from None
    tensors: list[Tensor] = []
    matched: list[str] = []
    unsupported: list[str] = []
    for module in model.modules:
        if not matches(module.name) or excluded(module.name):
            continue
        if module.kind in (LINEAR, EMBEDDING, CONVOLUTION):
            matched.append(module.name)
            tensors.extend(_adapter(lora, module))
        else:
            unsupported.append(module.name)
    unsupported.extend(sorted(name for name in model.containers() if matches(name) and not excluded(name)))
    found = _parameters(model, lora, tensors, unsupported)
    saved = _saved(model, lora, tensors)
    names = [*matched, *unsupported]
    missing = [*unmatched]
    missing += [t for t in _asked(lora) if not any(name == t or name.endswith(f".{t}") for name in names)]
    missing += [t for t in lora.parameters if t not in found]
    missing += [t for t in lora.save if t not in saved]
    return Trained(
        parameters=sum(prod(shape) for _, shape in tensors),
        tensors=tuple(tensors),
        matched=tuple(matched),
        missing=tuple(missing),
        unsupported=tuple(unsupported),
        leaves=tuple(dict.fromkeys(name.rpartition(".")[2] for name in matched)),
    )


def _parameters(model: Model, lora: Lora, tensors: list[Tensor], unsupported: list[str]) -> set[str]:
    """Adds what `target_parameters` trains; gives the asked names that were found."""
    found: set[str] = set()
    if not lora.parameters:
        return found
    for module in model.modules:
        for tensor, _ in module.tensors:
            name = f"{module.name}.{tensor}"
            hits = [t for t in lora.parameters if name == t or name.endswith(f".{t}")]
            if not hits:
                continue
            found.update(hits)
            added = None if lora.dora else _parameter_adapter(lora, module, tensor)
            if added is None:
                unsupported.append(name)
            else:
                tensors.extend(added)
    return found


def _saved(model: Model, lora: Lora, tensors: list) -> set[str]:
    """Adds the whole modules of `modules_to_save` (PEFT trains a copy of each, also of a tied one)."""
    found: set[str] = set()
    if not lora.save:
        return found
    names = [(module.name, [(module.name, module)]) for module in model.modules]
    for name in sorted(model.containers()):
        names.append((name, [(m.name, m) for m in model.modules if m.name.startswith(name + ".")]))
    copied: set[str] = set()
    for name, modules in names:
        hits = [wanted for wanted in lora.save if name.endswith(wanted)]
        found.update(hits)
        for own, module in modules if hits else ():
            if own not in copied:
                copied.add(own)
                tensors.extend((f"{own}.{tensor}", shape) for tensor, shape in module.tensors)
    return found
