"""Digests of what ranks should have alike (the trainable parameters) and should not (the first batch).

The first values of a parameter are enough: parameters that are initialized at random already differ in the first
number. They leave the GPU in one copy. Of a batch, values from all over it are taken; a batch on a GPU is not read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Iterable, List, Optional

from allranks.worker import guard

VALUES = 16
"""Of each parameter."""

PARAMETERS = 4096

BATCH_VALUES = 4096
"""Of each tensor of a batch, spread over it: some 40 µs for a tensor."""

MOST_COPIED = 1 << 20
BATCH_PARTS = 256
BATCH_DEPTH = 8
BATCHES = 1000
"""Before the first step. A pass over the data that measures it may read many more: then nothing is said."""


class FirstBatch:
    """The digest of the newest batch before the first step. Earlier batches (to measure the data, to evaluate once)
    may be the same on all ranks."""

    def __init__(self) -> None:
        self.digest: Optional[str] = None
        self.samples: Optional[int] = None
        self._seen = 0
        self._counted: Any = None

    def take(self, found: Any, dataset: Any) -> None:
        self._seen += 1
        if self._seen > BATCHES:
            self.digest = None
            return
        self.digest = batch(found)
        if dataset is self._counted:
            return
        self._counted = dataset  # its length may be read from a file
        try:
            self.samples = len(dataset)
        except (TypeError, NotImplementedError):
            self.samples = None  # a stream has no length


@guard.guarded
def batch(found: Any) -> Optional[str]:
    """Hex; None of a batch that is on a GPU, of an unknown kind, or in which every tensor has one value alone."""
    seen, parts = hashlib.sha256(), [0, 0]
    known = _take(found, seen, parts, 0)
    return seen.hexdigest()[:32] if known and parts[1] else None


def _take(value: Any, seen: Any, parts: List[int], depth: int) -> bool:
    """Whether all of it could be looked at. `parts` counts what was, and the tensors whose values differ."""
    if parts[0] >= BATCH_PARTS:
        return True
    parts[0] += 1
    if hasattr(value, "untyped_storage") or hasattr(value, "is_cpu"):
        return _take_tensor(value, seen, parts)
    if value is None or isinstance(value, (str, bytes, int, float)):
        short = value[:BATCH_VALUES] if isinstance(value, (str, bytes)) else value
        seen.update(repr(short).encode("utf-8", "replace"))
        return True
    if depth >= BATCH_DEPTH:
        return False
    if isinstance(value, Mapping):
        return all(
            _take(key, seen, parts, depth) and _take(value[key], seen, parts, depth + 1) for key in value
        )
    if isinstance(value, (list, tuple)):
        return all(_take(one, seen, parts, depth + 1) for one in value)
    return False


def _take_tensor(value: Any, seen: Any, parts: List[int]) -> bool:
    if not value.is_cpu or str(value.layout) != "torch.strided":
        return False
    if not value.is_contiguous() and value.numel() > MOST_COPIED:
        return False  # to flatten it would copy all of it
    flat = value.detach().reshape(-1)
    kept = flat[:: max(1, flat.numel() // BATCH_VALUES)].contiguous()
    seen.update(f"{tuple(value.shape)} {value.dtype};".encode())
    seen.update(kept.view(guard.loaded("torch").uint8).numpy().tobytes())
    parts[1] += bool(kept.numel() > 1 and (kept != kept[0]).any())
    return True


@guard.guarded
def trainable(found: Iterable[Any]) -> Optional[str]:
    """Hex; None if a rank holds a part alone (ZeRO-3, FSDP, tensor parallelism), or nothing trains."""
    torch = guard.loaded("torch")
    seen = hashlib.sha256()
    first: List[Any] = []
    for parameter in found:
        if not parameter.requires_grad:
            continue
        if is_part(parameter):
            return None
        if getattr(parameter, "allreduce", True) is False:
            continue  # an expert that lives on this rank alone (DeepSpeed's MoE)
        seen.update(f"{tuple(parameter.shape)} {parameter.dtype};".encode())
        if len(first) < PARAMETERS:
            first.append(parameter.detach().reshape(-1)[:VALUES].to(torch.float32))
    if not first:
        return None
    with torch.no_grad():
        seen.update(torch.cat([values.to(first[0].device) for values in first]).cpu().numpy().tobytes())
    return seen.hexdigest()[:32]


def is_part(parameter: Any) -> bool:
    """Whether this rank holds only a share of the parameter."""
    return (
        hasattr(parameter, "ds_id")
        or hasattr(parameter, "_is_flat_param")
        or getattr(parameter, "_fsdp_flattened", False)  # FSDP1, use_orig_params: a view into its flat part
        or hasattr(parameter, "placements")
        or getattr(parameter, "tensor_model_parallel", False)
        or not parameter.is_contiguous()
        or parameter.device.type == "meta"
    )


def divides_model(engine: Any) -> bool:
    """Whether a rank of this DeepSpeed engine holds a stage of a pipeline, or a slice of each layer."""
    return _is_above_one(engine, "num_stages", "mp_world_size")


def _is_above_one(engine: Any, *names: str) -> bool:
    values = (getattr(engine, name, None) for name in names)
    return any(isinstance(value, int) and value > 1 for value in values)


DATA_PARALLEL = frozenset((
    "data", "dp", "ddp", "fsdp", "hsdp", "world", "default", "replicate", "shard", "dp_replicate", "dp_shard",
))  # fmt: skip
"""Names of a device mesh's dimensions over which the data is divided; over any other, ranks share a batch."""

OTHERS = ("megatron.core.parallel_state", "torch.distributed.pipelining")
"""Modules that are not imported by a script that uses only data parallelism."""


@guard.guarded
def shares_batches(engine: Any, parameters: Iterable[Any]) -> bool:
    """Whether ranks may read one batch and be right: parts of a tensor, a sequence or a pipeline."""
    if divides_model(engine) or _is_above_one(engine, "sequence_parallel_size"):
        return True
    state = getattr(guard.loaded("accelerate.state"), "AcceleratorState", None)
    config = (getattr(state, "_shared_state", None) or {}).get("parallelism_config")
    if any((getattr(config, f"{name}_size", None) or 1) > 1 for name in ("tp", "cp", "sp", "pp")):
        return True
    if any(guard.loaded(name) is not None for name in OTHERS):
        return True
    return any(_is_shared(parameter) for parameter in parameters)


def _is_shared(parameter: Any) -> bool:
    if getattr(parameter, "tensor_model_parallel", False):
        return True
    mesh = getattr(parameter, "device_mesh", None)
    if mesh is None:
        return False
    names = getattr(mesh, "mesh_dim_names", None)
    if names is None:  # FSDP's own has one dimension and no name, and so may tensor parallelism's
        return mesh.ndim > 1 or guard.loaded("torch.distributed.tensor.parallel.api") is not None
    return not DATA_PARALLEL.issuperset(names)
