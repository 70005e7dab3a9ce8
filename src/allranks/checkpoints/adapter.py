"""The parts of an adapter: its config as PEFT writes it, and its tensors sorted by module and part.

PEFT names a tensor `base_model.model.<module>.lora_A.weight` (the adapter's own name is taken out when it
is saved). Fused experts (`target_parameters`) put the pair on the module that owns the parameter, and a
second pair of the same module under `<module>.base_layer`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from allranks.checkpoints.pattern import Tries
from allranks.checkpoints.weights import Tensor
from allranks.core.text import printable

PREFIX = "base_model.model."

A, B, EMBEDDING_A, EMBEDDING_B, MAGNITUDE = (
    "lora_A",
    "lora_B",
    "lora_embedding_A",
    "lora_embedding_B",
    "magnitude",
)
BIAS_A, BIAS_B = "lora_A.bias", "lora_B.bias"

_PARTS = (
    (".lora_A.weight", A),
    (".lora_B.weight", B),
    (".lora_A.bias", BIAS_A),
    (".lora_B.bias", BIAS_B),
    (".lora_embedding_A", EMBEDDING_A),
    (".lora_embedding_B", EMBEDDING_B),
    (".lora_magnitude_vector", MAGNITUDE),
    (".lora_magnitude_vector.weight", MAGNITUDE),  # PEFT before 0.12 wrote it so
)

_EMBEDDING_NAMES = frozenset(
    ("embed_tokens", "lm_head", "wte", "word_embeddings", "embed_in", "embed_out", "shared", "tok_embeddings")
)
"""PEFT saves the embeddings of its own accord when the vocabulary was resized or they are targets."""

_PLAIN = re.compile(r"[\w.]+")
_CLASSIFIER_TASKS = ("SEQ_CLS", "TOKEN_CLS")
_CLASSIFIER_NAMES = ("classifier", "score")
"""PEFT adds both names to modules_to_save for these tasks, though a model has one of them."""


@dataclass(frozen=True)
class Config:
    """The parts of adapter_config.json that decide which tensors there must be."""

    kind: str
    rank: int
    alpha: float
    targets: Union[str, Tuple[str, ...], None]
    parameters: Tuple[str, ...] = ()
    modules_to_save: Tuple[str, ...] = ()
    optional_modules: Tuple[str, ...] = ()
    rank_pattern: Mapping[str, int] = field(default_factory=dict)
    layers: Optional[Tuple[int, ...]] = None
    dora: bool = False
    bias: str = "none"
    token_indices: bool = False
    base_model: Optional[str] = None
    tries: Tries = field(default_factory=Tries, compare=False, repr=False)

    @property
    def names(self) -> int:
        """How many names and patterns each module may have to be compared with."""
        targets = 1 if isinstance(self.targets, str) else len(self.targets or ())
        return targets + len(self.parameters) + len(self.modules_to_save) + len(self.rank_pattern) + 1


def _names(data: Mapping[str, Any], key: str) -> Tuple[str, ...]:
    value = data.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ValueError("%s is not a list of names" % key)
    return tuple(value)


def _layers(data: Mapping[str, Any]) -> Optional[Tuple[int, ...]]:
    value = data.get("layers_to_transform")
    if value is None or value == []:
        return None
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        raise ValueError("layers_to_transform holds something else than layer numbers")
    return tuple(values)


def _rank_pattern(data: Mapping[str, Any]) -> Dict[str, int]:
    value = data.get("rank_pattern") or {}
    if not isinstance(value, dict) or not all(isinstance(v, int) and v > 0 for v in value.values()):
        raise ValueError("rank_pattern is not a table of ranks")
    return dict(value)


def parse_config(data: Mapping[str, Any]) -> Config:
    """Raises ValueError, with the reason, where PEFT could not use it either."""
    kind, rank, alpha = data.get("peft_type"), data.get("r"), data.get("lora_alpha")
    if not isinstance(kind, str):
        raise ValueError("peft_type is missing")
    if kind != "LORA":
        return Config(kind=printable(kind, 40), rank=0, alpha=0.0, targets=None)
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 1:
        raise ValueError("r is %s" % printable(rank, 40))
    if not isinstance(alpha, (int, float)) or isinstance(alpha, bool):
        raise ValueError("lora_alpha is %s" % printable(alpha, 40))
    targets = data.get("target_modules")
    parameters = _names(data, "target_parameters")
    if not targets and not parameters:
        raise ValueError("it names no target_modules")
    classifier = data.get("task_type") in _CLASSIFIER_TASKS
    base = data.get("base_model_name_or_path")
    return Config(
        kind=kind,
        rank=rank,
        alpha=float(alpha),
        targets=targets if isinstance(targets, str) else _names(data, "target_modules"),
        parameters=parameters,
        modules_to_save=_names(data, "modules_to_save"),
        optional_modules=_CLASSIFIER_NAMES if classifier else (),
        rank_pattern=_rank_pattern(data),
        layers=_layers(data),
        dora=bool(data.get("use_dora")),
        bias=str(data.get("bias") or "none"),
        token_indices=bool(data.get("trainable_token_indices")),
        base_model=base if isinstance(base, str) else None,
    )


@dataclass
class Adapter:
    """The tensors by module: `modules[path][part]`; `others` are the tensors that do not belong to a pair."""

    config: Config
    modules: Dict[str, Dict[str, Tensor]]
    others: List[Tensor]


def sort_tensors(config: Config, tensors: List[Tensor]) -> Adapter:
    modules: Dict[str, Dict[str, Tensor]] = {}
    others: List[Tensor] = []
    for tensor in tensors:
        module, part = split_name(tensor.name)
        if part is None:
            others.append(tensor)
        else:
            modules.setdefault(module, {})[part] = tensor
    return Adapter(config, modules, others)


def split_name(name: str) -> Tuple[str, Optional[str]]:
    """(module path without PEFT's prefix, part) of a tensor's name; part is None if it is not a LoRA tensor."""
    bare = name[len(PREFIX) :] if name.startswith(PREFIX) else name
    for suffix, part in _PARTS:
        if bare.endswith(suffix):
            return bare[: -len(suffix)], part
    return bare, None


def owner(module: str) -> str:
    """The module of the base model: without the `base_layer` that PEFT's wrappers add."""
    while module.endswith(".base_layer"):
        module = module[: -len(".base_layer")]
    return module


def ends_with(path: str, name: str) -> bool:
    """PEFT's rule for a name in a list: the whole path, or its end after a dot."""
    return path == name or path.endswith("." + name)


def of_pattern(table: Mapping[str, Any], module: str, default: Any, tries: Optional[Tries] = None) -> Any:
    """What `rank_pattern` or `alpha_pattern` gives to a module; None where a pattern of it was not tried."""
    tries = tries or Tries()
    for key, value in table.items():
        if _PLAIN.fullmatch(key):
            if ends_with(module, key):
                return value
            if "." not in key:
                continue
        hit = tries.matches(r"(.*\.)?(%s)" % key, module)  # PEFT's get_pattern_key
        if hit:
            return value
        if hit is None:
            return None
    return default


def rank_of(config: Config, module: str) -> Optional[int]:
    """The rank that the config gives to a module; None where a pattern of it was not tried."""
    return of_pattern(config.rank_pattern, module, config.rank, config.tries)


def layer_of(module: str) -> Optional[int]:
    """The layer number as PEFT reads it for layers_to_transform (the last number with a name before it)."""
    match = re.match(r".*\.[^.]*\.(\d{1,9})\.", module)
    return int(match.group(1)) if match else None


def is_target(config: Config, module: str) -> Optional[bool]:
    """Whether the config asks for an adapter on this module; None where that could not be tried."""
    base = owner(module)
    if any(ends_with(base, name.rpartition(".")[0]) for name in config.parameters if "." in name):
        return True
    if isinstance(config.targets, str):
        return True if config.targets == "all-linear" else config.tries.matches(config.targets, base)
    return any(ends_with(base, name) for name in config.targets or ())


def is_saved_module(config: Config, tensor: Tensor) -> bool:
    """Whether a tensor that is not a LoRA part has a reason to be there."""
    path = split_name(tensor.name)[0]
    parts = path.split(".")
    if any(("." + path + ".").find("." + name + ".") >= 0 for name in config.modules_to_save):
        return True
    if parts[-1] == "bias" and config.bias in ("all", "lora_only"):
        return True
    if parts[-1] == "trainable_tokens_delta" and config.token_indices:
        return True
    return not _EMBEDDING_NAMES.isdisjoint(parts[:-1])
