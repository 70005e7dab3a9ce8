"""Saves a PEFT adapter from a DeepSpeed engine: gathers what is saved and nothing else.

Stock transformers 5 gathers every frozen module of a ZeRO-3 model and throws it away; 4.52 gathers the
whole model or, without the gather flag, writes an adapter of 40 bytes without a tensor. Here PEFT says
which parameters it would save, these alone are gathered, in pieces of bounded size, and PEFT writes them:
the files are PEFT's own. They are written into a temporary folder, synced, described by a manifest with a digest per
file, and moved into place.

Before the first gather, all ranks agree, by rank 0's word, which parameters they gather, in the order of the model. A
failure before that is raised on every rank. No rank waits for another's disk. The gathered values are compared with
the values that each rank holds (`gather_check`) before a file is written.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from allranks.worker import (
    adapter_names,
    collective,
    gather_check,
    guard,
    optimizer_state,
    save_origin,
    shard_gather,
)
from allranks.worker.adapter_files import write_whole

PIECE_BYTES = 64 << 20
"""Gathered at once, so that no rank needs more memory than this for a save. One larger parameter is a piece."""

_SKIP, _TAKE = 0, 1
_MOVING, _ABSENT, _READY = 0, 1, 2


class CannotSave(RuntimeError):
    """Raised on every rank, before anything was gathered or written."""


class NotExact(CannotSave):
    """Raised on every rank, after all gathers and before a file is written: in two attempts, the gathered values were
    not those that the ranks hold."""


@dataclass(frozen=True)
class Gathered:
    """`state`: names and CPU copies of all that PEFT would save, None on a rank that keeps nothing; `bytes` put
    together from the ranks' parts; `proof`: the manifest's entry on whether they are the ranks' own (`gather_check`);
    `unsure`: why PEFT could not say what it saves, so that `state` may hold more (`check_readable` before a write)."""

    state: Optional[Dict[str, Any]]
    bytes: int
    proof: Dict[str, Any]
    unsure: str = ""

    def check_readable(self, model: Any) -> None:
        """Raises adapter_names.NotRead if PEFT cannot read the adapter from what was gathered."""
        if self.unsure and self.state is not None:
            adapter_names.check_readable(model, self.state)


@dataclass(frozen=True)
class Saved:
    """The result of one save on this rank. `path` is None on a rank that does not write; `gathered_bytes` is the size
    of the parameters that were put together from the ranks' parts."""

    path: Optional[str]
    tensors: int
    gathered_bytes: int
    seconds: float


def save_adapter(
    model: Any,
    directory: str,
    step: Optional[int] = None,
    base_model: Optional[str] = None,
    piece_bytes: int = PIECE_BYTES,
) -> Saved:
    """Saves the adapter of `model` into `directory`. Every rank calls it, at the same step.

    `model` is a PeftModel, or the DeepSpeed engine (or DistributedDataParallel) around one. ZeRO stages 0 to
    3, with and without offload. `base_model` is what the manifest names, by default what PEFT recorded.
    Raises CannotSave on every rank if there is nothing to save, or not what the ranks hold (NotExact); on rank 0
    adapter_names.NotRead if PEFT cannot read the adapter, and OSError if it cannot write.
    """
    started = time.monotonic()
    peft_model, engine = unwrap(model)
    gathered = gather(peft_model, engine, _place()[0] == 0, piece_bytes)
    state = gathered.state
    if state is None:
        return Saved(None, 0, gathered.bytes, time.monotonic() - started)

    gathered.check_readable(peft_model)

    def write(folder: str) -> None:
        peft_model.save_pretrained(folder, state_dict=state)

    write_whole(directory, write, dict(describe(peft_model, step, base_model), **gathered.proof))
    return Saved(directory, len(state), gathered.bytes, time.monotonic() - started)


def unwrap(model: Any) -> Tuple[Any, Any]:
    """(the PeftModel, the DeepSpeed engine or None) of the model object that a training loop holds."""
    peft, engine = sys.modules.get("peft"), None
    if peft is None:
        raise CannotSave("peft was never imported")
    # An engine shows its model's attributes, so the type is asked.
    while not isinstance(model, peft.PeftModel):
        if hasattr(model, "zero_optimization_stage"):
            engine = model
        inner = getattr(model, "module", None) or getattr(model, "_orig_mod", None)
        if inner is None:
            raise CannotSave("%s holds no PeftModel" % type(model).__name__)
        model = inner
    return model, engine


# ---- gather ----


def gather(model: Any, engine: Any = None, keep: bool = True, piece_bytes: int = PIECE_BYTES) -> Gathered:
    """All that PEFT would save, kept where `keep`.

    Collective: every rank calls it with the same model. Under ZeRO-3 a rank holds at most `piece_bytes`
    (or one parameter, if that is larger) beside what it keeps. Raises CannotSave on every rank.
    """
    named, partitioned = _named(model), is_partitioned(model)
    if not partitioned and not keep:
        return Gathered(None, 0, {})
    names = [name for name, _ in named]
    taken, unsure = [False] * len(names), ""
    if not partitioned or _place()[0] == 0:
        # Under ZeRO-3 rank 0 alone asks: PEFT may look for the base model's config on the hub, which another rank
        # may not reach, and two opinions would end in gathers that never meet.
        taken, unsure = adapter_names.chosen(model, names)
    choice = [_TAKE if take else _SKIP for take in taken]
    if partitioned:
        choice = list(collective.from_rank_0(bytes(choice)))
    chosen = [index for index, value in enumerate(choice) if value == _TAKE]
    if not chosen:
        raise CannotSave("PEFT names no parameter to save: is there an adapter in the model?")
    state: Optional[Dict[str, Any]] = {} if keep else None
    whole, divided = _sort(engine, [named[index] for index in chosen])
    if state is not None:
        state.update((name, _copy(tensor)) for name, tensor in whole)
    zero = [named[index] for index in chosen if hasattr(named[index][1], "ds_id")]
    if not zero:
        return Gathered(state, 0, {"exact": gather_check.WHOLE}, unsure)
    held = gather_check.held([tensor for _, tensor in zero], keep)
    if held.reason:
        gathered = _by_deepspeed(divided, state, piece_bytes)
        return Gathered(state, gathered, {"exact": gather_check.NOT_LOOKED + held.reason}, unsure)
    gathered = _by_parts(divided, state, piece_bytes, held.keepers)
    return Gathered(state, gathered, _prove(zero, held, state, piece_bytes), unsure)


def is_partitioned(model: Any) -> bool:
    """Whether ZeRO-3 has cut its parameters among the ranks; the same on every rank."""
    return any(hasattr(parameter, "ds_id") for parameter in model.parameters())


def _prove(
    zero: List[Tuple[str, Any]], held: gather_check.Held, state: Optional[Dict[str, Any]], piece_bytes: int
) -> Dict[str, Any]:
    """The manifest's entry that the gathered values are those that the ranks hold.

    Parameters that differ are gathered once more. Raises NotExact on every rank if they differ again. Collective.
    """
    wrong = gather_check.differing(zero, held.table, state)
    if not wrong:
        return {"exact": gather_check.PROVED}
    again = [zero[index] for index, _ in wrong]
    _by_parts(again, state, piece_bytes, held.keepers)
    _give_back(again)  # a copy that ZeRO-3 keeps and that went astray: the ranks' parts are what is trained
    _make_whole(again)
    still = gather_check.differing(zero, held.table, state)
    if still:
        name, rank = zero[still[0][0]][0], still[0][1]
        raise NotExact(
            "the gathered %s is not what rank %d holds of it. %d of %d parameters differ so, also after a "
            "second gather. Nothing was written, because the adapter would not be the trained one. Look at "
            "the memory and the interconnect of that rank's node and of the writing rank's (allranks check); what was "
            "saved before is untouched." % (name, rank, len(still), len(zero))
        )
    names = [name for name, _ in again]
    guard.note("gather", RuntimeError("%d tensors were not what the ranks hold and were gathered again: %s"
                                      % (len(names), names[0])))  # fmt: skip
    return {"exact": gather_check.PROVED, "gathered_again": names}


def _named(model: Any) -> List[Tuple[str, Any]]:
    """The entries of a state_dict, without building one: parameters and persistent buffers, with their names."""
    named = list(model.named_parameters(remove_duplicate=False))
    for prefix, module in model.named_modules(remove_duplicate=False):
        for name, buffer in module.named_buffers(recurse=False):
            if name not in module._non_persistent_buffers_set:
                named.append((prefix + "." + name if prefix else name, buffer))
    return named


def _sort(engine: Any, named: List[Tuple[str, Any]]) -> Tuple[List[Tuple[str, Any]], List[Tuple[str, Any]]]:
    """(whole on every rank, to be gathered). Small parameters that ZeRO-3 keeps whole move no byte.

    A parameter is whole only if it is on all ranks.
    """
    zero = [(name, tensor) for name, tensor in named if hasattr(tensor, "ds_id")]
    whole = [(name, tensor) for name, tensor in named if not hasattr(tensor, "ds_id")]
    if not zero:
        return whole, []
    import torch

    lowest = torch.tensor(
        [_readiness(t) for _, t in zero], dtype=torch.uint8, device=optimizer_state.device()
    )
    torch.distributed.all_reduce(lowest, op=torch.distributed.ReduceOp.MIN)
    agreed = lowest.tolist()
    if _MOVING in agreed:
        if engine is None or not hasattr(engine.optimizer, "checkpoint_event_prologue"):
            raise CannotSave("parameters are still on their way: save between two steps, and pass the engine")
        engine.optimizer.checkpoint_event_prologue()
        engine.optimizer.checkpoint_event_epilogue()
        return _sort(None, named)
    whole += [pair for pair, readiness in zip(zero, agreed) if readiness == _READY]
    return whole, [pair for pair, readiness in zip(zero, agreed) if readiness != _READY]


def _readiness(tensor: Any) -> int:
    """A parameter that is whole by accident may hold values from before the optimizer's step: it counts as absent."""
    if tensor.ds_status.name == "INFLIGHT":
        return _MOVING
    is_ready = tensor.ds_status.name == "AVAILABLE" and getattr(tensor, "ds_persist", False)
    return _READY if is_ready else _ABSENT


def _by_parts(
    divided: List[Tuple[str, Any]], state: Optional[Dict[str, Any]], piece_bytes: int, keepers: List[int]
) -> int:
    """Gathers the parts that the ranks hold, with one collective per piece. DeepSpeed's own bookkeeping stays as it
    is."""
    for piece in pieces(divided, piece_bytes):
        found = shard_gather.gather(piece, keepers)
        if state is not None and found is not None:
            state.update(found)
    return sum(_bytes(tensor) for _, tensor in divided)


def _by_deepspeed(divided: List[Tuple[str, Any]], state: Optional[Dict[str, Any]], piece_bytes: int) -> int:
    """Gathers through DeepSpeed, which can handle quantized parts, other groups and NVMe.

    Every rank first gives its copy of a parameter back: a gather that one rank enters and another skips never ends.
    """
    if not divided:
        return 0
    import deepspeed

    _give_back(divided)
    for piece in pieces(divided, piece_bytes):
        with ExitStack() as whole:
            for together in _at_once([tensor for _, tensor in piece]):
                whole.enter_context(deepspeed.zero.GatheredParameters(together, modifier_rank=None))
            if state is not None:
                state.update((name, _copy(tensor)) for name, tensor in piece)
    _make_whole(divided)
    return sum(_bytes(tensor) for _, tensor in divided)


def _give_back(divided: List[Tuple[str, Any]]) -> None:
    for _, tensor in divided:
        if tensor.ds_status.name == "AVAILABLE":
            tensor.partition(param_list=[tensor], has_been_updated=False)


def _make_whole(divided: List[Tuple[str, Any]]) -> None:
    """Those that ZeRO-3 expects whole between steps. Collective."""
    for together in _at_once([tensor for _, tensor in divided if getattr(tensor, "ds_persist", False)]):
        together[0].all_gather(param_list=together)


def _at_once(parameters: List[Any]) -> List[List[Any]]:
    """The parameters for each call of DeepSpeed: all in one call; under gloo one parameter per call.

    DeepSpeed up to at least 0.16.9 waits only for the last of a call's collectives. On a GPU's stream they end in
    order. gloo runs two at a time (torch's `ProcessGroupGloo::Options`, threads = 2), so that the one before the last
    may still be running when its values are read: of 144 adapters that two ranks saved, 10 held one such tensor,
    though the trained values were right (`gathers_that_differ` in tests/worker/resume_worker.py).
    """
    import torch

    if not parameters or torch.distributed.get_backend() != "gloo":
        return [parameters] if parameters else []
    return [[parameter] for parameter in parameters]


def pieces(divided: List[Tuple[str, Any]], piece_bytes: int) -> List[List[Tuple[str, Any]]]:
    """The parameters in their order, cut where a piece would exceed `piece_bytes`; one is never divided."""
    cut: List[List[Tuple[str, Any]]] = []
    size = 0
    for pair in divided:
        more = _bytes(pair[1])
        if not cut or size + more > piece_bytes:
            cut.append([])
            size = 0
        cut[-1].append(pair)
        size += more
    return cut


def _bytes(tensor: Any) -> int:
    return int(getattr(tensor, "ds_numel", tensor.numel())) * tensor.element_size()


def _copy(tensor: Any) -> Any:
    """A CPU copy with a storage of its own: ZeRO-3 frees the gathered one."""
    return tensor.detach().to("cpu", copy=True).contiguous()


def _place() -> Tuple[int, int]:
    """(rank, world size); (0, 1) in its own process."""
    from torch import distributed

    if not distributed.is_available() or not distributed.is_initialized():
        return 0, 1
    return distributed.get_rank(), distributed.get_world_size()


def describe(model: Any, step: Optional[int], base_model: Optional[str] = None) -> Dict[str, Any]:
    """The manifest without its files."""
    config = model.peft_config.get("default") or next(iter(model.peft_config.values()))
    targets = getattr(config, "target_modules", None)
    names = ("torch", "transformers", "peft", "deepspeed", "accelerate")
    modules = {name: sys.modules[name] for name in names if name in sys.modules}
    return {
        "step": step,
        "world_size": _place()[1],
        "base_model": base_model or getattr(config, "base_model_name_or_path", None),
        "targets": sorted(targets) if isinstance(targets, (set, list, tuple)) else targets,
        "versions": {name: str(getattr(module, "__version__", "")) for name, module in modules.items()},
        **save_origin.origin(),
    }
