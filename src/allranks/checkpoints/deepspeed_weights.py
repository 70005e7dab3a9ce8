"""The whole weights of a DeepSpeed checkpoint: DeepSpeed's own converter joins them, and a second reading proves it.

DeepSpeed's `zero_to_fp32` unpickles every file of the checkpoint, and a pickle can run any program. Here torch may only
make tensors, plain values and the classes in `KNOWN`; a file with anything else is refused. The proof takes every
parameter's parts from the ranks' files by itself and compares the bits. Runs in a Python that has torch and DeepSpeed.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from allranks.checkpoints.base_model import INDEX, SINGLE, Refused
from allranks.checkpoints.catalogue import found
from allranks.checkpoints.export_folder import Growing, room
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.kind import MOST_FILES, Candidate, Seen
from allranks.checkpoints.kinds import deepspeed as kind
from allranks.checkpoints.verify import verify
from allranks.core import BLOCK, UNKNOWN
from allranks.core.text import printable

KNOWN = (
    ("deepspeed.runtime.zero.config", "ZeroStageEnum"),
    ("deepspeed.runtime.fp16.loss_scaler", "LossScaler"),
    ("deepspeed.runtime.fp16.loss_scaler", "DynamicLossScaler"),
    ("deepspeed.utils.tensor_fragment", "fragment_address"),
)
"""What DeepSpeed 0.16 to 0.19 put into a checkpoint besides tensors; each only holds values."""

SHARD_BYTES = 5 << 30
"""The largest file that is written; the Hugging Face Hub's own default size of a shard."""


@dataclass(frozen=True)
class Parts:
    """The files of one tag, loaded lazily: `optim` and `model` of each data-parallel rank, in the ranks' order."""

    optim: List[Dict[str, Any]]
    model: List[Dict[str, Any]]

    @property
    def stage(self) -> int:
        return int(self.optim[0]["zero_stage"])


def located(path: str) -> Tuple[str, str]:
    """(folder, tag) of a checkpoint that is named by its folder or by that of a tag. Raises Refused."""
    path = os.path.realpath(path)
    try:
        folder = Folder(path)
    except OSError as error:
        raise Refused(found("checkpoint-unreadable", path, error.strerror or str(error))) from None
    with folder:
        place = Candidate(folder, tuple(folder.names()[:MOST_FILES]))
        if any(name.endswith("_model_states.pt") for name in place.names):
            return os.path.dirname(path), os.path.basename(path)
        seen = Seen()
        tag = kind.latest(place, seen) if kind.holds(place) else ""
    if not tag:
        saw = "no files of DeepSpeed's ranks (`*_model_states.pt`) are in it"
        raise Refused(*(seen.findings or [found("export-not-joined", path, saw)]))
    return path, tag


def export(path: str, target: str) -> Dict[str, Any]:
    """`{"path", "findings", "proof"}`; the folder `target` gets safetensors in float32. Raises Refused and OSError."""
    folder, tag = located(path)
    tagged = os.path.join(folder, tag)
    against = [f for f in verify(tagged).findings if f.verdict in (BLOCK, UNKNOWN)]
    if against:
        raise Refused(*against)
    if os.path.lexists(target):
        raise Refused(found("export-exists", target, "it is there"))
    with known_classes(tagged):
        state = joined(folder, tag)
        room(target, sum(tensor.numel() * tensor.element_size() for tensor in state.values()) + (1 << 20))
        compared, buffers, wrong = differences(state, read(tagged), tagged)
    if wrong:
        raise Refused(found("export-differs", target, wrong[0], evidence=tuple(wrong[:20])))
    with Growing(target) as growing:
        files = write(state, growing.path)
        wrong = unlike(state, growing.path, files)
        if wrong:
            raise Refused(found("export-differs", target, wrong[0], evidence=tuple(wrong[:20])))
        proof = {"parameters": compared, "buffers": buffers, "files": len(files)}
        growing.keep({"form": "weights", "checkpoint": {"path": folder, "tag": tag}, "proof": proof})
    saw = "%d tensors of %s in float32, each compared bit for bit with the parts in the ranks' files" % (
        len(state),
        printable(tag),
    )
    return {"path": target, "findings": [found("export-whole", target, saw).as_json()], "proof": proof}


@contextlib.contextmanager
def known_classes(tagged: str) -> Iterator[None]:
    """While it lasts `torch.load` makes nothing but tensors, plain values and `KNOWN`. Raises Refused for others."""
    import torch

    allowed = []
    for module, name in KNOWN:
        with contextlib.suppress(ImportError, AttributeError):
            allowed.append(getattr(importlib.import_module(module), name))
    names = {"%s.%s" % (cls.__module__, cls.__name__) for cls in allowed}
    for file in files_of(tagged):
        strange = set(torch.serialization.get_unsafe_globals_in_checkpoint(file)) - names
        if strange:
            saw = "%s holds %s" % (os.path.basename(file), ", ".join(sorted(map(printable, strange))[:5]))
            raise Refused(found("export-unpickles", tagged, saw))
    load = torch.load

    def careful(*given: Any, **named: Any) -> Any:
        return load(*given, **{**named, "weights_only": True})

    torch.load = careful
    try:
        with torch.serialization.safe_globals(allowed):
            yield
    finally:
        torch.load = load


def files_of(tagged: str, ending: str = "_states.pt") -> List[str]:
    """The files of ranks with this ending, in the order of the ranks."""
    names = [name for name in os.listdir(tagged) if name.endswith(ending)]
    return [os.path.join(tagged, name) for name in sorted(names, key=rank_of)]


def rank_of(name: str) -> Tuple[int, str]:
    match = kind.OF_RANK.fullmatch(name)
    return (int(match[2]), name) if match else (0, name)


def joined(folder: str, tag: str) -> Dict[str, Any]:
    """What DeepSpeed makes of it. Raises Refused with DeepSpeed's message."""
    try:
        from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint

        state = get_fp32_state_dict_from_zero_checkpoint(folder, tag)
        return dict(state or {})
    except ImportError:
        saw = "this Python has no DeepSpeed, which joins the parts"
        raise Refused(found("export-not-joined", folder, saw)) from None
    except (ValueError, KeyError, RuntimeError, AssertionError) as error:
        saw = "DeepSpeed refuses it: %s: %s" % (type(error).__name__, printable(str(error))[:300])
        raise Refused(found("export-not-joined", folder, saw)) from None


# ---- the second reading ----


def read(tagged: str) -> Parts:
    import torch

    def load(file: str) -> Dict[str, Any]:
        return torch.load(file, map_location="cpu", mmap=True)

    optim = [load(file)["optimizer_state_dict"] for file in files_of(tagged, "_optim_states.pt")]
    model = [load(file) for file in files_of(tagged, "_model_states.pt")]
    return Parts(optim, model)


def differences(state: Mapping[str, Any], parts: Parts, tagged: str) -> Tuple[int, int, List[str]]:
    """(parameters compared, buffers compared, what differs). A tensor that no part accounts for differs, too."""
    import torch

    wrong: List[str] = []
    seen = set()
    for name, pieces, shape in parameters(parts):
        seen.add(name)
        mine = torch.cat([piece.flatten() for piece in pieces])
        count = 1
        for size in shape:
            count *= size
        if name not in state:
            wrong.append("%s is missing" % printable(name))
        elif tuple(state[name].shape) != tuple(shape) or len(mine) < count:
            wrong.append("%s has another shape than %s" % (printable(name), tuple(shape)))
        elif not same(state[name], mine[:count].view(tuple(shape))):
            wrong.append("%s has other values than its parts" % printable(name))
    compared = len(seen)
    for name in parts.model[0]["buffer_names"]:
        seen.add(name)
        if name in state and not same(state[name], parts.model[0]["module"][name]):
            wrong.append("the buffer %s has other values" % printable(name))
    for name, source in dict(parts.model[0].get("shared_params") or {}).items():
        seen.add(name)
        if name in state and not (source in state and same(state[name], state[source])):
            wrong.append("%s is not %s, to which it is tied" % (printable(name), printable(source)))
    wrong += ["no file of a rank holds %s" % printable(name) for name in state if name not in seen]
    return compared, len(parts.model[0]["buffer_names"]), wrong


def same(one: Any, other: Any) -> bool:
    """Bit for bit; NaN equals itself."""
    import torch

    if one.shape != other.shape:
        return False
    # A row, since a column's values need not lie side by side for torch to call it contiguous.
    rows = [each.to(one.dtype).contiguous().reshape(-1).view(torch.uint8) for each in (one, other)]
    return bool(torch.equal(*rows))


def parameters(parts: Parts) -> Iterator[Tuple[str, List[Any], Sequence[int]]]:
    """(name, its parts in the ranks' order, its shape) of every parameter, frozen ones too."""
    first = parts.model[0]
    if parts.stage == 3:
        yield from of_stage_3(parts)
    else:
        yield from of_stage_2(parts)
    for name, shape in dict(first.get("frozen_param_shapes") or {}).items():
        ranks = parts.model if parts.stage == 3 else parts.model[:1]
        yield name, [one["frozen_param_fragments"][name] for one in ranks], shape


def of_stage_3(parts: Parts) -> Iterator[Tuple[str, List[Any], Sequence[int]]]:
    """Each rank holds ceil(n / ranks) values of each parameter, one parameter after the other."""
    import torch

    flats = [torch.cat([flat.flatten() for flat in one["fp32_flat_groups"]]) for one in parts.optim]
    begin = 0
    for group in parts.model[0]["param_shapes"]:
        for name, shape in group.items():
            count = -(-shape.numel() // len(flats))
            yield name, [flat[begin : begin + count] for flat in flats], shape
            begin += count


def of_stage_2(parts: Parts) -> Iterator[Tuple[str, List[Any], Sequence[int]]]:
    """Each rank says which values of its own part belong to which parameter (`param_slice_mappings`)."""
    for number, group in enumerate(parts.model[0]["param_shapes"]):
        for name, shape in group.items():
            pieces = []
            for one in parts.optim:
                place = one["param_slice_mappings"][number].get(name)
                if place is not None:
                    flat = one["single_partition_of_fp32_groups"][number]
                    pieces.append(flat[place.start : place.start + place.numel])
            if not pieces:
                raise Refused(found("export-differs", "", "no rank has a part of %s" % printable(name)))
            yield name, pieces, shape


# ---- written ----


def write(state: Mapping[str, Any], folder: str) -> Dict[str, List[str]]:
    """{file: names of its tensors}, as transformers lays out a model in shards."""
    from safetensors.torch import save_file

    shards: List[List[str]] = [[]]
    filled = 0
    for name, tensor in state.items():
        size = tensor.numel() * tensor.element_size()
        if shards[-1] and filled + size > SHARD_BYTES:
            shards.append([])
            filled = 0
        shards[-1].append(name)
        filled += size
    of = len(shards)
    files = {
        SINGLE if of == 1 else "model-%05d-of-%05d.safetensors" % (number, of): names
        for number, names in enumerate(shards, 1)
    }
    for file, names in files.items():
        # A copy of each: tied tensors share their memory, which safetensors refuses to write twice.
        save_file({name: state[name].clone().contiguous() for name in names}, os.path.join(folder, file))
    if of > 1:
        write_index(state, files, folder)
    return files


def write_index(state: Mapping[str, Any], files: Mapping[str, Sequence[str]], folder: str) -> None:
    import json

    total = sum(tensor.numel() * tensor.element_size() for tensor in state.values())
    table = {name: file for file, names in files.items() for name in names}
    with open(os.path.join(folder, INDEX), "w", encoding="utf-8") as out:
        json.dump({"metadata": {"total_size": total}, "weight_map": table}, out, indent=2)


def unlike(state: Mapping[str, Any], folder: str, files: Mapping[str, Sequence[str]]) -> List[str]:
    """The tensors that do not come back from the disk as they were written."""
    from safetensors import safe_open

    wrong: List[str] = []
    for file, names in files.items():
        with safe_open(os.path.join(folder, file), "pt") as opened:
            wrong += [
                "%s reads back otherwise" % name
                for name in names
                if not same(state[name], opened.get_tensor(name))
            ]
    return wrong
