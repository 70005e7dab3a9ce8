"""Describes a model of an unknown family in the training environment: a program, and the reader of its answer.

    PYTHON -m allranks.plan.meta_device CONFIG.json      (or the file itself, anywhere)

builds the model on torch's meta device, which needs neither weights nor memory, and prints one JSON object.
Only that program imports torch and transformers, in the training environment; the reader of its answer (`model_of`)
needs neither. It does not run the model's own code (`auto_map`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

LAYER = re.compile(r"\.(\d+)\.")
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
EXPERTS_A_TOKEN = ("num_experts_per_tok", "moe_topk", "moe_k", "top_k_experts")
"""The names of both counts in the families' configurations; ERNIE 4.5 and Aria have their own, Gemma 4 one."""

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads")
"""The names of the number of attention heads in configurations."""


def describe(config: Mapping[str, Any]) -> dict[str, Any]:
    """Runs in the training environment. Raises ValueError if transformers has no such model."""
    import torch
    import transformers
    from transformers import AutoConfig, AutoModelForCausalLM

    left_out = ("model_type", "auto_map", "architectures")
    values = {key: value for key, value in config.items() if key not in left_out}
    with torch.device("meta"):
        made = AutoConfig.for_model(config["model_type"], **values)
        pictured = getattr(transformers, "AutoModelForImageTextToText", None)
        # LLaMA-Factory prefers the class that reads images to the text model.
        sees = pictured is not None and type(made) in pictured._model_mapping
        model = (pictured if sees and pictured else AutoModelForCausalLM).from_config(made)
    seen: set[int] = set()
    modules = []
    for name, module in model.named_modules():
        tensors = [(n, list(p.shape)) for n, p in module.named_parameters(recurse=False)]
        if not tensors:
            continue
        own = [id(p) for p in module.parameters(recurse=False)]
        shared = all(key in seen for key in own)
        modules.append({"name": name, "kind": _kind(module), "tensors": tensors, "shared": shared})
        seen.update(own)
    head = model.get_output_embeddings()
    text = made.get_text_config()
    return {
        "family": config["model_type"],
        "modules": modules,
        "head": _name_of(model, head),
        "decoder": _name_of(model, _language_model(model)) if sees else "",
        "config": _scalars(text),
        "images": _images(model, made) if sees else {},
    }


def _images(model: Any, made: Any) -> dict[str, Any]:
    """The values of the configuration, those of the tower, and whether the tower's embeddings are made to require
    gradients together with those of the language model."""
    inside = {id(module) for module in _language_model(model).modules()}
    model.enable_input_require_grads()
    hooked = any(module._forward_hooks and id(module) not in inside for module in model.modules())
    return {**_scalars(made), "vision": _scalars(getattr(made, "vision_config", None)), "hooked": hooked}


def _scalars(config: Any) -> dict[str, Any]:
    values = config.to_dict() if hasattr(config, "to_dict") else {}
    return {key: value for key, value in values.items() if isinstance(value, (int, float, str, bool))}


def _name_of(model: Any, part: Any) -> str | None:
    return next((name for name, module in model.named_modules() if module is part), None)


def _language_model(model: Any) -> Any:
    """The language model inside a model that reads images. Before transformers 5, `get_decoder` of some families gives
    the whole model without its head."""
    found = model.get_decoder()
    for name in ("language_model", "text_model"):
        found = getattr(found, name, found)
    return found


def _kind(module: Any) -> str:
    import torch
    from transformers.pytorch_utils import Conv1D

    if isinstance(module, (torch.nn.Linear, Conv1D)):
        # LLaMA-Factory goes by the name of the class. Llama 4's router is a Linear that gives two results.
        return "linear" if "Linear" in type(module).__name__ or isinstance(module, Conv1D) else "router"
    if isinstance(module, (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)):
        return "convolution" if module.groups == 1 else "other"
    if isinstance(module, torch.nn.Embedding):
        return "embedding"
    if "Norm" in type(module).__name__:
        return "norm"
    return "experts" if any(p.ndim == 3 for p in module.parameters(recurse=False)) else "other"


def model_of(answer: Mapping[str, Any]):
    """The `Model` of what the program printed. Raises UnknownModel if it is not whole."""
    from allranks.plan.model import Attention, Model, Module, UnknownModel
    from allranks.plan.vision_tower import images_of

    try:
        decoder = str(answer.get("decoder") or "")
        modules = tuple(
            Module(
                name=str(one["name"]),
                kind=str(one["kind"]),
                tensors=tuple((str(name), tuple(int(n) for n in shape)) for name, shape in one["tensors"]),
                layer=_layer(str(one["name"]), decoder),
                expert=bool(re.search(r"(^|\.)experts(\.|$)", str(one["name"]))),
                shared=bool(one["shared"]),
            )
            for one in answer["modules"]
        )
        config = dict(answer["config"])
        heads = int(_first(config, *HEADS))
        hidden = int(_first(config, "hidden_size", "n_embd", "d_model"))
        size = int(config.get("head_dim") or hidden // heads)
        return Model(
            family=str(answer["family"]),
            hidden=hidden,
            vocabulary=int(config["vocab_size"]),
            layers=max((m.layer for m in modules if m.layer is not None), default=-1) + 1,
            attention=Attention(heads, int(config.get("num_key_value_heads") or heads), size, size),
            modules=modules,
            tied=any(module.shared for module in modules),
            experts=int(_first(config, *EXPERTS, default=0)),
            experts_per_token=int(_first(config, *EXPERTS_A_TOKEN, default=0)),
            head=str(answer.get("head") or "lm_head"),
            decoder=decoder,
            images=images_of(str(answer["family"]), answer.get("images") or {}),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnknownModel(f"the training environment's description is not whole: {error!r}") from None


def _layer(name: str, decoder: str) -> int | None:
    """The number of the language model's layer that a module is in; None outside of them."""
    if decoder and not name.startswith(decoder + "."):
        return None
    found = LAYER.search(name[len(decoder) :] + ".")
    return int(found.group(1)) if found else None


def _first(config: Mapping[str, Any], *names: str, default: Any = None) -> Any:
    for name in names:
        if config.get(name) is not None:
            return config[name]
    if default is None:
        raise KeyError(names[0])
    return default


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    try:
        answer = describe(config)
    except ModuleNotFoundError as error:
        print(json.dumps({"error": f"{error.name or 'a module'} is not installed"}))
        return 1
    except (KeyError, ValueError, TypeError, ImportError, AttributeError) as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        return 1
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
