"""The parts of an adapter that do not train: LoRA-FA's A, a second adapter, buffers of a saved module.

The state that a run resumes from holds what trains (`trainer_state`). Under DeepSpeed nothing else reads the adapter
when a run goes on, and DeepSpeed's own checkpoints leave out what is frozen. So these parts are put back from the
adapter's file beside the state; else what was trained would meet other values than it was trained with, without a
message.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Tuple

from allranks.worker import guard, optimizer_state
from allranks.worker.collective import CannotResume, agree

WEIGHTS = "adapter_model.safetensors"
SAVED_MODULES = ".modules_to_save."


def names(model: Any) -> List[str]:
    """The names of the frozen parameters of a PEFT model's adapters, and of their buffers; alike on every rank."""
    marks = (str(getattr(model.base_model, "prefix", None) or "lora_"), SAVED_MODULES)
    frozen = [
        name for name, p in model.named_parameters() if not p.requires_grad and any(m in name for m in marks)
    ]
    return frozen + [name for name, _ in model.named_buffers() if SAVED_MODULES in name]


def restore(model: Any, folder: str) -> None:
    """Puts the frozen parts back from `folder`, which rank 0 sees. Collective.

    Raises CannotResume on every rank if the adapter's file cannot be read, or holds a part in another shape. A part
    that it does not hold stays as the script made it.
    """
    wanted = names(model)
    if not wanted:
        return
    places = agree(lambda: _places(model, folder, wanted))
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    for name in wanted:
        if name in places:
            _put(tensors[name], *places[name])
    left = [name for name in wanted if name not in places]
    if left:
        guard.note(
            "resumes", ValueError("%s holds no %s: it stays as the script made it" % (folder, left[0]))
        )


def _places(model: Any, folder: str, wanted: List[str]) -> Dict[str, Tuple[str, str]]:
    """Rank 0: {parameter: (file, name in it)}."""
    from safetensors import safe_open

    found: Dict[str, Tuple[str, str]] = {}
    shapes: Dict[str, Dict[str, Tuple[int, ...]]] = {}
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    for name in wanted:
        adapter = next((one for one in model.peft_config if one in name.split(".")), "default")
        path = os.path.join(folder, *([] if adapter == "default" else [adapter]), WEIGHTS)
        if path not in shapes:
            try:
                with safe_open(path, framework="pt") as file:
                    held = list(file.keys())
                    shapes[path] = {key: tuple(file.get_slice(key).get_shape()) for key in held}
            except Exception as error:
                raise CannotResume(
                    "%s cannot be read: %s: %s" % (path, type(error).__name__, error)
                ) from None
        key = next((key for key in _keys(name, adapter) if key in shapes[path]), None)
        if key is None:
            continue
        shape = tuple(getattr(tensors[name], "ds_shape", tensors[name].shape))
        if shapes[path][key] != shape:
            raise CannotResume("%s in %s has the shape %s, here %s" % (key, path, shapes[path][key], shape))
        found[name] = (path, key)
    return found


def _keys(name: str, adapter: str) -> List[str]:
    """How PEFT may call a parameter in the adapter's file: without the adapter's name, a saved module's without the
    wrapper's."""
    plain = name.replace(".%s." % adapter, ".", 1)
    if plain == name and name.endswith("." + adapter):
        plain = name[: -len(adapter) - 1]
    return [plain.replace(SAVED_MODULES, ".", 1), plain]


def _put(tensor: Any, path: str, key: str) -> None:
    import torch
    from safetensors import safe_open

    whole = None
    if optimizer_state.rank() == 0:
        with safe_open(path, framework="pt") as file:
            whole = file.get_tensor(key)
    if hasattr(tensor, "ds_id"):
        import deepspeed

        with deepspeed.zero.GatheredParameters([tensor], modifier_rank=0), torch.no_grad():
            if whole is not None:
                tensor.copy_(whole)
        return
    device = optimizer_state.device()
    sent = torch.empty(tensor.shape, dtype=tensor.dtype, device=device)
    if whole is not None:
        sent.copy_(whole)
    torch.distributed.broadcast(sent, src=0)
    with torch.no_grad():
        tensor.copy_(sent)
