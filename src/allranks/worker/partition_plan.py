"""Which stretches of the files make up this rank's part of each parameter under ZeRO-3, and which cannot.

Rank r of n has the values r·s to (r+1)·s of a parameter's flattened values (s: values of a part, rounded up), the last
part padded (deepspeed/runtime/zero/partition_parameters.py, `_partition_param`).
"""

from __future__ import annotations

import hashlib
from typing import Any, Dict, FrozenSet, List, NamedTuple, Set, Tuple

from allranks.worker.tensor_origin import Stretch, between
from allranks.worker.weight_files import Files


class Doubt(Exception):
    """Why the stock way must do it: nothing was changed yet."""


class Own(NamedTuple):
    """One parameter's part: `stretches` hold its values, `part` is where they go (the rest of it is padding)."""

    name: str
    parameter: Any
    part: Any
    stretches: Tuple[Stretch, ...]


class Plan(NamedTuple):
    own: List[Own]
    stock: Dict[str, FrozenSet[str]]
    """The parameters that the library itself loads, by the name in the model: the stored tensors that each is made
    of."""
    filled: Set[str]
    digest: str


def plan(model: Any, tensors: Dict[str, Any], files: Files, group: Any, special: Set[str]) -> Plan:
    """The plan for a model whose tensors by name are known (`tensor_origin`). `group` gives (rank, ranks) of a
    parameter; the modules `special` go the stock way. Raises Doubt if something does not add up."""
    names_of: Dict[int, List[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if name in tensors:  # of a tied one mostly a single name is stored
            names_of.setdefault(id(parameter), []).append(name)
    own: List[Own] = []
    stock: Dict[str, FrozenSet[str]] = {}
    parameters: Dict[str, Any] = dict(model.named_parameters(remove_duplicate=False))
    told = hashlib.sha256()
    for name in sorted(tensors):
        tensor, parameter = tensors[name], parameters.get(name)
        shape = tuple(tensor.shape)
        if getattr(tensor, "names", None) is None:
            raise Doubt("%s is in no safetensors file" % name)
        if parameter is not None:
            wanted = tuple(getattr(parameter, "ds_shape", parameter.shape))
            if wanted != shape:
                raise Doubt("%s is %s in the model, %s in the files" % (name, wanted, shape))
        if (
            parameter is None
            or tensor.stretches is None
            or len(names_of[id(parameter)]) > 1
            or name.rpartition(".")[0] in special
            or not is_part(parameter, group)
        ):
            stock[name] = tensor.names
            told.update(repr((name, "stock", sorted(tensor.names))).encode("utf-8"))
            continue
        if sum(one.length for one in tensor.stretches) != parameter.ds_numel:
            raise Doubt("%s does not add up" % name)
        rank, ranks = group(parameter)
        size = parameter.ds_tensor.numel()
        first = min(rank * size, parameter.ds_numel)
        end = min(first + size, parameter.ds_numel)
        stretches = tuple(between(tensor.stretches, first, end))
        own.append(Own(name, parameter, parameter.ds_tensor, stretches))
        whole = (name, str(parameter.ds_tensor.dtype), shape, ranks, size)
        told.update(repr((whole, tensor.stretches)).encode("utf-8"))
    for one in own:
        for stretch in one.stretches:
            if stretch.name not in files.tensors:
                raise Doubt("%s is in no file" % stretch.name)
    own.sort(key=lambda one: place_of(one, files))
    return Plan(own, stock, {one.name for one in own}, told.hexdigest())


def outline(model: Any) -> str:
    """A digest of all parameters' names, whole shapes and types. Under ZeRO-3 it must be the same on every rank."""
    told = hashlib.sha256()
    for name, one in model.named_parameters(remove_duplicate=False):
        told.update(repr((name, tuple(getattr(one, "ds_shape", one.shape)), str(one.dtype))).encode("utf-8"))
    return told.hexdigest()


def place_of(own: Own, files: Files) -> Tuple[int, int]:
    """Where its values begin: the files are read from begin to end."""
    if not own.stretches:
        return (-1, 0)
    place = files.tensors[own.stretches[0].name]
    return (place.file, place.begin)


def is_part(parameter: Any, group: Any) -> bool:
    """Whether a parameter is cut plainly: a contiguous part in memory, of the size that its group asks for."""
    part = getattr(parameter, "ds_tensor", None)
    if part is None or getattr(parameter.ds_status, "name", "") != "NOT_AVAILABLE":
        return False
    if getattr(part, "final_location", None) is not None or hasattr(part, "ds_quant_scale"):
        return False
    if getattr(parameter, "ds_secondary_tensor", None) is not None or hasattr(parameter, "comm"):
        return False
    if part.dim() != 1 or not part.is_contiguous() or not part.is_floating_point():
        return False
    ranks = group(parameter)[1]
    return part.numel() == -(-parameter.ds_numel // ranks)


def modules_with_buffers(model: Any, tensors: Dict[str, Any]) -> Set[str]:
    """Modules of which a buffer is stored: transformers 4 reads it with the module's parameters, or not at all."""
    return {name.rpartition(".")[0] for name, _ in model.named_buffers() if name in tensors}


def names_of_special_modules(model: Any) -> Set[str]:
    """Modules that load their own way: with `_load_from_state_dict` of their own, or a hook before it."""
    plain = next(one for one in type(model).__mro__ if one.__module__ == "torch.nn.modules.module")
    usual = plain._load_from_state_dict
    return {
        name
        for name, module in model.named_modules(remove_duplicate=False)
        if getattr(type(module), "_load_from_state_dict", usual) is not usual
        or getattr(module, "_load_state_dict_pre_hooks", None)
        or hasattr(module, "parametrizations")
    }
