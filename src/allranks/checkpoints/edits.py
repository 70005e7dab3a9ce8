"""How an adapter changes each tensor of its base model. Pure: names, shapes and numbers, no value is read.

Every kind of LoRA is one formula on a matrix W of the base with the rows and columns that it has on disk:

    W' = W + s · L·R             s = alpha / r, or alpha / √r (rsLoRA)
    W' = m / ‖W + s·L·R‖ · (…)   DoRA: each output's norm is m

L·R is B·A; (B·A)ᵀ where the base stores [in, out] (embeddings, `fan_in_fan_out`, PEFT's fused experts).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from allranks.checkpoints import adapter as parts
from allranks.checkpoints.adapter import Adapter
from allranks.checkpoints.base_model import FLOATS, BaseModel, Refused
from allranks.checkpoints.catalogue import found
from allranks.checkpoints.weights import Tensor
from allranks.core.text import printable

PLAIN_KEYS = frozenset(
    (
        *(
            "peft_type",
            "auto_mapping",
            "base_model_name_or_path",
            "revision",
            "task_type",
            "inference_mode",
            "r",
        ),
        *(
            "target_modules",
            "exclude_modules",
            "lora_alpha",
            "lora_dropout",
            "fan_in_fan_out",
            "bias",
            "use_rslora",
        ),
        *("modules_to_save", "init_lora_weights", "layers_to_transform", "layers_pattern", "rank_pattern"),
        *("alpha_pattern", "megatron_core", "loftq_config", "eva_config", "use_dora", "qalora_group_size"),
        *("runtime_config", "lora_bias", "target_parameters", "peft_version", "ephemeral_gpu_offload"),
    )
)
"""The keys of adapter_config.json (PEFT 0.15 to 0.18) that are heeded here, or that change no value of a merge.
Any other key with a value changes what the adapter computes in a way that is not known here."""

PLAIN_STARTS = (True, False, None, "gaussian", "orthogonal", "eva")
"""`init_lora_weights` that leave the base as it is. PiSSA, OLoRA, CorDA and LoftQ train against another base."""

FUSED_PARTS = {
    "gate_up_proj": (("gate_proj", "up_proj"), ("w1", "w3")),
    "down_proj": (("down_proj",), ("w2",)),
}
"""transformers 5 keeps the experts of a layer in one tensor; on disk each is its own (conversion_mapping.py)."""

HOLDERS = ((".mlp.experts", ".mlp.experts"), (".mlp.experts", ".block_sparse_moe.experts"))


@dataclass(frozen=True)
class Change:
    """`scale · L·R` added to rows and columns of one matrix. `expert` is (number, of how many) in the fused
    tensors; `first` the row of L that meets the matrix's first row."""

    module: str
    scale: float
    a: Tensor
    b: Tensor
    flipped: bool = False
    magnitude: Optional[Tensor] = None
    expert: Optional[Tuple[int, int]] = None
    first: int = 0


@dataclass
class Edit:
    """All that happens to one tensor of the base: first it is replaced, then added to. `slices` change one
    expert each of a tensor that holds them all."""

    target: str
    replaced: Optional[Tensor] = None
    changes: List[Change] = field(default_factory=list)
    slices: Dict[int, Change] = field(default_factory=dict)
    bias: Optional[Tuple[Tensor, float]] = None


def plan(adapter: Adapter, raw: Mapping[str, Any], base: BaseModel, file: str) -> Dict[str, Edit]:
    """{tensor of the base: how it changes}. Raises Refused if it cannot be merged exactly."""
    refuse_unknown(raw, file)
    edits: Dict[str, Edit] = {}

    def edit(name: str) -> Edit:
        return edits.setdefault(name, Edit(name))

    for tensor in adapter.others:
        edit(_other(tensor, base, file)).replaced = tensor
    for module in sorted(adapter.modules):
        tensors = adapter.modules[module]
        if is_fused(adapter, module):
            for name, change, expert in _experts(adapter, raw, module, base, file):
                if expert is None:
                    edit(name).changes.append(change)
                else:
                    edit(name).slices[expert] = change
            continue
        name, change = _linear(adapter, raw, module, base, file)
        edit(name).changes.append(change)
        if parts.BIAS_B in tensors:
            edit(_bias(module, base, file)).bias = (tensors[parts.BIAS_B], change.scale)
    _check_types(edits, base)
    return edits


def refuse_unknown(raw: Mapping[str, Any], file: str) -> None:
    strange = sorted(key for key, value in raw.items() if value and key not in PLAIN_KEYS)
    strange += ["init_lora_weights: %s" % printable(raw["init_lora_weights"], 40)
                ] if raw.get("init_lora_weights", True) not in PLAIN_STARTS else []  # fmt: skip
    if strange:
        raise Refused(found("export-unsupported", file, "adapter_config.json sets %s" % ", ".join(strange)))


def scale_of(adapter: Adapter, raw: Mapping[str, Any], module: str, file: str) -> float:
    """PEFT's: alpha / r, under rsLoRA alpha / √r, both by the module's own patterns."""
    owner = parts.owner(module)
    rank = parts.rank_of(adapter.config, owner)
    alpha = parts.of_pattern(raw.get("alpha_pattern") or {}, owner, adapter.config.alpha)
    if rank is None or not isinstance(alpha, (int, float)):
        raise Refused(
            found("export-unsupported", file, "rank or alpha of %s by a pattern" % printable(owner))
        )
    return alpha / math.sqrt(rank) if raw.get("use_rslora") else alpha / rank


def _linear(
    adapter: Adapter, raw: Mapping[str, Any], module: str, base: BaseModel, file: str
) -> Tuple[str, Change]:
    tensors, name = adapter.modules[module], parts.owner(module) + ".weight"
    shape = base.shape(or_tied(name, base))
    if shape is None:
        raise Refused(found("export-base-lacks", base.path, "no tensor %s" % printable(name)))
    embedding = parts.EMBEDDING_A in tensors
    a, b = tensors[parts.EMBEDDING_A if embedding else parts.A], tensors[
        parts.EMBEDDING_B if embedding else parts.B]  # fmt: skip
    if len(shape) != 2 or len(a.shape) != 2 or len(b.shape) != 2:
        saw = "%s is not a matrix (%s)" % (printable(name), list(shape))
        raise Refused(found("export-unsupported", file, saw))
    flipped = embedding or _is_turned(base, module, a, b, bool(raw.get("fan_in_fan_out")))
    want = (a.shape[1], b.shape[0]) if flipped else (b.shape[0], a.shape[1])
    if want != shape:
        saw = "%s changes %s, the base has %s" % (printable(module), list(want), list(shape))
        raise Refused(found("adapter-shape-wrong", file, saw))
    scale = scale_of(adapter, raw, module, file)
    return name, Change(module, scale, a, b, flipped, tensors.get(parts.MAGNITUDE))


def _is_turned(base: BaseModel, module: str, a: Tensor, b: Tensor, said: bool) -> bool:
    """Whether the base stores this layer as [in, out]. An adapter's configuration has one `fan_in_fan_out` for all its
    layers, and PEFT leaves there what it found out about the last one (0.18, `tuners/lora/model.py`)."""
    owner = parts.owner(module)
    known, shape = base.is_turned(owner), base.shape(or_tied(owner + ".weight", base))
    if known is None and said and shape != (a.shape[1], b.shape[0]):
        return False
    return said if known is None else known


def or_tied(name: str, base: BaseModel) -> str:
    """The tensor that stands for a tied output layer on disk."""
    if name in base.places or not base.is_tied or not name.endswith("lm_head.weight"):
        return name
    return embedding_of(base) or name


def embedding_of(base: BaseModel) -> Optional[str]:
    names = [n for n in base.places if re.search(r"(^|\.)(embed_tokens|wte)\.weight$", n)]
    return names[0] if len(names) == 1 else None


def _bias(module: str, base: BaseModel, file: str) -> str:
    name = parts.owner(module) + ".bias"
    if name not in base.places:
        saw = "lora_B of %s has a bias, its layer in the base has none" % printable(module)
        raise Refused(found("export-unsupported", file, saw))
    return name


def _other(tensor: Tensor, base: BaseModel, file: str) -> str:
    """The base's name of a tensor that the adapter holds whole (modules_to_save, biases, embeddings)."""
    name = tensor.name[len(parts.PREFIX) :] if tensor.name.startswith(parts.PREFIX) else tensor.name
    name = name.replace(".base_layer.", ".")
    if name.endswith("trainable_tokens_delta"):
        raise Refused(found("export-unsupported", file, "single tokens that train (trainable_token_indices)"))
    shape = base.shape(or_tied(name, base))
    if shape is None:
        raise Refused(found("export-base-lacks", base.path, "no tensor %s" % printable(name)))
    if shape != tensor.shape:
        saw = "%s is %s, the base has %s" % (printable(name), list(tensor.shape), list(shape))
        raise Refused(found("adapter-shape-wrong", file, saw))
    return name


# ---- fused experts ----


def is_fused(adapter: Adapter, module: str) -> bool:
    owner = parts.owner(module)
    return any(parts.ends_with(owner, n.rpartition(".")[0]) for n in adapter.config.parameters if "." in n)


@dataclass(frozen=True)
class Fused:
    """A parameter that holds all experts: its [rows, columns] for each, and (part, rows) where the disk keeps
    each expert apart, as `<holder>.<number>.<part>.weight`; no parts if the file holds the parameter as it is."""

    name: str
    experts: int
    rows: int
    columns: int
    holder: str = ""
    parts: Tuple[Tuple[str, int], ...] = ()


def _experts(
    adapter: Adapter, raw: Mapping[str, Any], module: str, base: BaseModel, file: str
) -> List[Tuple[str, Change, Optional[int]]]:
    owner, tensors = parts.owner(module), adapter.modules[module]
    if raw.get("rank_pattern") or raw.get("alpha_pattern"):
        raise Refused(found("export-unsupported", file, "a rank or alpha of their own for fused experts"))
    fused, flipped = which_fused(
        adapter, raw, module, fused_of(base, owner, parameters_of(adapter, owner)), file
    )
    scale, found_edits = scale_of(adapter, raw, module, file), []
    for number in range(fused.experts):
        first = 0
        change = {"a": tensors[parts.A], "b": tensors[parts.B], "flipped": flipped}
        if not fused.parts:
            one = Change(module, scale, expert=(number, fused.experts), **change)
            found_edits.append((fused.name, one, number))
        for part, rows in fused.parts:
            one = Change(module, scale, expert=(number, fused.experts), first=first, **change)
            found_edits.append(("%s.%d.%s.weight" % (fused.holder, number, part), one, None))
            first += rows
    return found_edits


def parameters_of(adapter: Adapter, owner: str) -> List[str]:
    return [
        n.rpartition(".")[2]
        for n in adapter.config.parameters
        if parts.ends_with(owner, n.rpartition(".")[0])
    ]


def fused_of(base: BaseModel, owner: str, parameters: Sequence[str]) -> List[Fused]:
    """The parameters of a module, as the files hold them."""
    found_ones = []
    for parameter in parameters:
        whole = base.shape("%s.%s" % (owner, parameter))
        if whole is not None and len(whole) == 3:
            found_ones.append(Fused("%s.%s" % (owner, parameter), *whole))
            continue
        for here, there in HOLDERS:
            holder = owner[: -len(here)] + there if owner.endswith(here) else owner
            found_ones += [
                one for names in FUSED_PARTS.get(parameter, ())
                for one in [_apart(base, holder, "%s.%s" % (owner, parameter), names)] if one is not None
            ]  # fmt: skip
            if found_ones and found_ones[-1].name.endswith("." + parameter):
                break
    return found_ones


def _apart(base: BaseModel, holder: str, name: str, names: Sequence[str]) -> Optional[Fused]:
    shapes = [base.shape("%s.0.%s.weight" % (holder, part)) for part in names]
    if any(shape is None or len(shape) != 2 for shape in shapes):
        return None
    rows = [shape[0] for shape in shapes if shape is not None]
    number = 0
    while base.shape("%s.%d.%s.weight" % (holder, number, names[0])) is not None:
        number += 1
    columns = shapes[0][1] if shapes[0] is not None else 0
    return Fused(name, number, sum(rows), columns, holder, tuple(zip(names, rows)))


def which_fused(
    adapter: Adapter, raw: Mapping[str, Any], module: str, choices: Sequence[Fused], file: str
) -> Tuple[Fused, bool]:
    """The parameter that a pair changes, by its sizes, and whether L·R is (B·A)ᵀ: PEFT 0.17 and 0.18 take a
    parameter's [rows, columns] for [in, out]."""
    a, b, rank = adapter.modules[module][parts.A], adapter.modules[module][parts.B], adapter.config.rank
    fits = [
        (fused, flipped)
        for fused in choices
        for flipped in (True, False)
        if a.shape[0] == b.shape[1] == rank * fused.experts
        and (b.shape[0], a.shape[1])
        == ((fused.columns, fused.rows) if flipped else (fused.rows, fused.columns))
    ]
    if len(fits) == 2 and fits[0][0] is fits[1][0]:  # a square one
        version = str(raw.get("peft_version") or "0.18")
        fits = fits[:1] if re.match(r"0\.1[78](\.|$)", version) else fits
    if len(fits) != 1:
        saw = "%s fits %d parameters of the base" % (printable(module), len(fits))
        raise Refused(found("export-unsupported" if fits else "export-base-lacks", file, saw))
    return fits[0]


def _check_types(edits: Mapping[str, Edit], base: BaseModel) -> None:
    """Quantized weights have scales beside them; adding to them needs the scheme."""
    for name in edits:
        tensor = base.places[or_tied(name, base)].tensor
        if tensor.dtype not in FLOATS:
            saw = "%s is %s" % (printable(name), tensor.dtype)
            raise Refused(found("export-base-quantized", base.path, saw))
