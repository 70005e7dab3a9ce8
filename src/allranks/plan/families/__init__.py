"""Model families, one file each, found by name: `model_type` in `config.json` is the file's name.

A file has `DEFAULTS` (the family's configuration defaults in transformers 5.6) and `describe(parts)`. It may name
further `model_type`s in `ALSO`. `OWN_CODE` names those of them whose code is in the folder of the weights; in that code
each expert is three Linears, in every version of transformers. `HAS_LIGER = False`: LLaMA-Factory has no kernels of
Liger for it. `IS_EAGER = True`: attention keeps its scores unless another kind is asked for.

Nothing lists the files: the checks, the expectations of an adapter and docs/plan.md ask this package.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from allranks.plan.families._parts import Parts
from allranks.plan.model import Config, Model, UnknownModel


def names() -> list[str]:
    """The names of all families, sorted."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def _load(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")


def find(model_type: str) -> ModuleType:
    """The family's module; raises UnknownModel if there is none."""
    known = names()
    if model_type in known:
        return _load(model_type)
    for name in known:
        family = _load(name)
        if model_type in getattr(family, "ALSO", ()):
            return family
    raise UnknownModel(f"model_type {model_type!r} is not one of the families that allranks describes")


LIGER_ELSEWHERE = frozenset((
    "gemma", "gemma3", "glm", "glm4v", "granite", "llava", "mllama", "olmo2", "paligemma", "qwen2_vl", "qwen2_5_vl",
    "qwen3_next", "qwen3_5",
))  # fmt: skip
"""Model types without a file here that LLaMA-Factory 0.9.5 gives Liger's kernels. It trains others without them, with
a warning (`model/model_utils/liger_kernel.py`)."""


def has_liger(model_type: str) -> bool:
    """Whether `enable_liger_kernel` has an effect on this model."""
    return _says(model_type, "HAS_LIGER", True, model_type in LIGER_ELSEWHERE)


def is_eager(model_type: str) -> bool:
    """Whether attention keeps its scores if no kind of attention is asked for."""
    return _says(model_type, "IS_EAGER", False, False)


def _says(model_type: str, name: str, usual: bool, elsewhere: bool) -> bool:
    try:
        return bool(getattr(find(model_type), name, usual))
    except UnknownModel:
        return elsewhere


def is_described(model_type: Any) -> bool:
    try:
        return bool(find(str(model_type)))
    except UnknownModel:
        return False


def table() -> str:
    """The table of families in docs/plan.md, each with the first line of its file."""
    summaries = ((name, (_load(name).__doc__ or "").strip().splitlines()[0].rstrip(".")) for name in names())
    return "\n".join(["| family | |", "|---|---|", *(f"| `{name}` | {says} |" for name, says in summaries)])


def describe(config: Mapping[str, Any], fused_experts: bool = True) -> Model:
    """The model that `transformers` builds from this `config.json`.

    `fused_experts` is how transformers ≥ 5 holds routed experts (two 3-D tensors a layer); before, each
    expert was three Linear modules. Raises UnknownModel.
    """
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        raise UnknownModel("the config names no model_type")
    family = find(model_type)
    prepare = getattr(family, "prepare", None)
    values = prepare(config) if prepare else config
    fused = fused_experts and model_type not in getattr(family, "OWN_CODE", ())
    parts = Parts(family.__name__.rpartition(".")[2], Config(values, family.DEFAULTS), fused)
    family.describe(parts)
    return parts.model()
