"""The state that a run needs to continue, beside its adapter: saved and loaded without frozen values or pickle.

Two files: `allranks-resume.safetensors` holds master weights and optimizer states by parameter name, whole;
`allranks-resume.json` holds the rest. A folder on the head node's own disk is enough (see `state_file`), rank 0
alone reads them, and any number of ranks can resume from them.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from allranks.worker import frozen_parts, optimizer_state, random_state, state_file
from allranks.worker.adapter_files import COVERED, MANIFEST, RESUME_JSON, RESUME_TENSORS, digest
from allranks.worker.adapters import unwrap
from allranks.worker.collective import CannotResume, agree
from allranks.worker.optimizer_state import Flat

FORMAT = 1
DEEPSPEED = "deepspeed"
"""The kind of a state that names none, too."""

COUNTERS = ("global_steps", "global_samples", "skipped_steps", "micro_steps")


@dataclass(frozen=True)
class Snapshot:
    """The state of one rank at one step: this rank's flat tensors, and on rank 0 what is not a tensor."""

    flats: Tuple[Flat, ...]
    data: Dict[str, Any]


def take(engine: Any, step: int, more: Optional[Dict[str, Any]] = None) -> Snapshot:
    """Collective. `more` is the trainer's (JSON). Raises optimizer_state.NotHeld, alike on every rank, if
    DeepSpeed keeps its state in an unknown way."""
    held = tuple(optimizer_state.of_engine(engine))
    zero = engine.optimizer
    data = {
        "format": FORMAT,
        "step": step,
        "world_size": optimizer_state.world_size(),
        "samples_a_step": samples_a_step(engine),
        "accumulation": int(engine.gradient_accumulation_steps()),
        "zero_stage": 3 if held[0].cut else 0 if held[0].copied else 2,
        "kind": kind(engine),
        "optimizer": type(zero.optimizer).__name__,
        "engine": {name: getattr(engine, name, 0) for name in COUNTERS},
        "loss_scale": numbers(vars(zero.loss_scaler)) if hasattr(zero, "loss_scaler") else {},
        "groups": [numbers(group) for group in zero.optimizer.param_groups],
        "scalars": [[flat.group, flat.scalars()] for flat in held],
        "scheduler": scheduler_state(getattr(engine, "lr_scheduler", None)),
        "more": dict(more or {}),
    }
    try:
        json.dumps(data)
    except (TypeError, ValueError) as error:
        raise optimizer_state.NotHeld("the state has a part without a JSON form: %s" % error) from None
    data["random"] = random_state.gathered()
    return Snapshot(held, data)


def kind(engine: Any) -> str:
    """`replicas` for what is in the place of a DeepSpeed engine. (An engine hands on its model's attributes.)"""
    return str(getattr(engine, "allranks_kind", DEEPSPEED))


def samples_a_step(engine: Any) -> int:
    """Samples of all ranks in one optimizer step: the data's position counts in these."""
    ranks = optimizer_state.world_size()
    return int(engine.train_micro_batch_size_per_gpu()) * int(engine.gradient_accumulation_steps()) * ranks


def numbers(values: Dict[str, Any]) -> Dict[str, Any]:
    """What of an object's or a group's values is a number, a text or a list of these."""
    plain = (bool, int, float, str, type(None))
    found = {}
    for key, value in values.items():
        parts = value if isinstance(value, (list, tuple)) else [value]
        if parts and all(isinstance(one, plain) for one in parts):
            found[key] = value
    return found


def scheduler_state(scheduler: Any) -> Optional[Dict[str, Any]]:
    """Raises NotHeld if JSON would change it: `MultiStepLR` looks up its steps as numbers, and keys become text."""
    state = scheduler.state_dict() if hasattr(scheduler, "state_dict") else None
    if not _has_text_keys(state):
        raise optimizer_state.NotHeld("the state of %s has keys that are not text" % type(scheduler).__name__)
    return state


def _has_text_keys(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _has_text_keys(one) for key, one in value.items())
    return not isinstance(value, (list, tuple)) or all(map(_has_text_keys, value))


# ---- write ----


def write(snapshot: Snapshot, folder: Optional[str]) -> None:
    """Collective: every rank's part in writing both files into `folder`, which rank 0 names. Raises OSError there."""
    state_file.write(snapshot.flats, None if folder is None else os.path.join(folder, RESUME_TENSORS))
    if folder is not None:
        with open(os.path.join(folder, RESUME_JSON), "w", encoding="utf-8") as text:
            json.dump(snapshot.data, text)


def planned_bytes(held: Tuple[Flat, ...]) -> int:
    """Of the tensors' file, without its header."""
    return sum(
        part.numel * flat.tensor(kind).element_size()
        for flat in held for kind in flat.kinds() for part in flat.parts
    )  # fmt: skip


# ---- read ----


def is_ours(folder: str) -> bool:
    """Whether a folder holds such a state; asked on rank 0."""
    return all(os.path.isfile(os.path.join(folder, name)) for name in (RESUME_JSON, RESUME_TENSORS))


def load(engine: Any, folder: str) -> Dict[str, Any]:
    """Puts the state of `folder` (seen by rank 0) into the engine; returns its JSON. Collective.

    Raises CannotResume on every rank, before anything was changed, where it does not fit.
    """
    held = tuple(optimizer_state.of_engine(engine))

    def compare() -> Any:
        data, types = read(folder, held, samples_a_step(engine))
        _same_kind(folder, data, kind(engine))
        _same_optimizer(folder, data, engine.optimizer.optimizer)
        return data, types

    data, names = agree(compare)
    zero = engine.optimizer
    if hasattr(zero, "checkpoint_event_prologue"):
        zero.checkpoint_event_prologue()  # also what ZeRO-3 keeps whole goes back to its parts first
    frozen_parts.restore(unwrap(engine)[0], folder)  # the last that may refuse
    _load_tensors(engine, held, folder, names)
    _load_numbers(engine, held, data)
    if hasattr(zero, "checkpoint_event_epilogue"):
        zero.checkpoint_event_epilogue()
    return data


def read(folder: str, held: Tuple[Flat, ...], samples: int) -> Any:
    """Rank 0: the JSON and {tensor name: its type}, once all of it fits. Raises CannotResume."""
    from safetensors import safe_open

    try:
        data = checked(folder)
        with safe_open(os.path.join(folder, RESUME_TENSORS), framework="pt") as file:
            names = list(file.keys())
            found = {name: tuple(file.get_slice(name).get_shape()) for name in names}
            types = {name: str(file.get_slice(name).get_dtype()) for name in names}
    except CannotResume:
        raise
    except Exception as error:
        raise CannotResume("%s cannot be read: %s: %s" % (folder, type(error).__name__, error)) from None
    _fits(folder, data, held, found, samples)
    return data, types


def checked(folder: str) -> Dict[str, Any]:
    """The JSON of a folder whose files are those of its manifest. Raises CannotResume, OSError, ValueError."""
    with open(os.path.join(folder, MANIFEST), encoding="utf-8") as file:
        files = json.load(file).get("files") or {}
    for name in COVERED:
        if files.get(name) != digest(os.path.join(folder, name)):
            path = os.path.join(folder, name)
            raise CannotResume("%s is not the file that was saved (%s)" % (path, MANIFEST))
    with open(os.path.join(folder, RESUME_JSON), encoding="utf-8") as file:
        data = json.load(file)
    if data.get("format") != FORMAT:
        raise CannotResume("%s is of format %r, this version reads %d" % (folder, data.get("format"), FORMAT))
    return data


def _fits(
    folder: str, data: Dict[str, Any], held: Tuple[Flat, ...], found: Dict[str, Any], samples: int
) -> None:
    wanted = {"master/" + part.name: part.shape for flat in held for part in flat.parts}
    masters = {name: shape for name, shape in found.items() if name.startswith("master/")}
    wrong = sorted(set(wanted) ^ set(masters)) or sorted(n for n in wanted if wanted[n] != masters[n])
    if wrong:
        raise CannotResume(
            "%s holds the state of %d parameters, %d train here; %s differs. Resume with the model, targets and "
            "rank of that run." % (folder, len(masters), len(wanted), wrong[0][len("master/") :])
        )
    if data["samples_a_step"] == samples:
        return
    then, now = int(data["world_size"]), optimizer_state.world_size()
    each = int(data["samples_a_step"])
    do = "%d ranks cannot reach this with a whole number of samples per rank: use a number of ranks that divides %d" % (
        now, each)  # fmt: skip
    if each % now == 0:
        do = "micro batch × accumulation = %d on each of the %d ranks gives that" % (each // now, now)
    raise CannotResume(
        "%s was trained with %d samples per step (%d ranks), but this run has %d (%d ranks): the learning rate "
        "and the place in the data count in steps. %s." % (folder, each, then, samples, now, do)
    )


ADAM = ("AdamW", "Adam", "FusedAdam", "DeepSpeedCPUAdam")
"""One algorithm in several places of memory: their states have the same names and shapes."""


def _same_kind(folder: str, data: Dict[str, Any], here: str) -> None:
    """Raises CannotResume if one of the two is under DeepSpeed: its loss scale, counters and schedule have no
    place without it."""
    then = str(data.get("kind") or DEEPSPEED)
    if then != here:
        words = {True: "under DeepSpeed", False: "without DeepSpeed"}
        raise CannotResume(
            "%s was saved %s, here the run is %s. Resume with the `deepspeed` of that run; the adapter alone can be "
            "the beginning of a new one (adapter_name_or_path)."
            % (folder, words[then == DEEPSPEED], words[here == DEEPSPEED])
        )


def _same_optimizer(folder: str, data: Dict[str, Any], optimizer: Any) -> None:
    """Raises CannotResume if the state is another optimizer's, or its parameters are grouped otherwise."""
    then, now = str(data["optimizer"]), type(optimizer).__name__
    if then != now and not (then in ADAM and now in ADAM):
        raise CannotResume(
            "%s holds the state of %s, here the optimizer is %s. Resume with the optimizer of that run."
            % (folder, then, now)
        )
    groups, here = len(data["groups"]), len(optimizer.param_groups)
    if groups != here:
        raise CannotResume(
            "%s holds %d groups of parameters, here are %d: another weight_decay or learning rate a group. "
            "Resume with the arguments of that run." % (folder, groups, here)
        )


def _load_tensors(engine: Any, held: Tuple[Flat, ...], folder: str, types: Dict[str, str]) -> None:
    """Tensor by tensor from rank 0 to all, each of which keeps its share."""
    import torch
    from safetensors import safe_open

    path = os.path.join(folder, RESUME_TENSORS)
    file = safe_open(path, framework="pt") if optimizer_state.rank() == 0 else None
    for flat in held:
        own = "/" + flat.parts[0].name
        kinds = {name.split("/", 1)[0]: kind for name, kind in types.items() if name.endswith(own)}
        for kind in sorted(kinds):
            dtype = dtype_of(kinds[kind])
            optimizer_state.make_room(flat, kind, dtype)
            for part in flat.parts:
                whole = torch.empty(part.numel, dtype=dtype, device=optimizer_state.device())
                if file is not None:
                    whole.copy_(file.get_tensor("%s/%s" % (kind, part.name)).reshape(-1))
                torch.distributed.broadcast(whole, src=0)
                optimizer_state.put(flat, part, kind, whole)
                if kind == "master" and not flat.cut:
                    _put_whole(engine, part, whole)
        if flat.cut:
            _round_master(engine.optimizer, flat)


def dtype_of(name: str) -> Any:
    """torch's type of a safetensors name."""
    import torch

    from allranks.worker.tensor_file import TYPES

    return {short: getattr(torch, full.split(".")[1]) for full, short in TYPES.items()}[name]


def _put_whole(engine: Any, part: Any, whole: Any) -> None:
    """Stages 1 and 2: every rank has the whole parameter, rounded from its master weights."""
    engine.module.get_parameter(part.name).data.copy_(whole.reshape(part.shape))


def _round_master(zero: Any, flat: Flat) -> None:
    """Stage 3: the partitioned parameters are the master weights, rounded."""
    for number, master in enumerate(zero.fp32_partitioned_groups_flat):
        if master is not flat.master:
            continue
        low = zero.fp16_partitioned_groups_flat[number]
        if low is not None and low is not master:
            low.data.copy_(master.data)
        for parameter, part in zip(zero.fp16_groups[number], flat.parts):
            # The same memory as `low` where that is there: a copy onto itself then.
            parameter.ds_tensor.data.copy_(master.data[part.offset : part.offset + part.length])


def _load_numbers(engine: Any, held: Tuple[Flat, ...], data: Dict[str, Any]) -> None:
    import torch

    zero = engine.optimizer
    of_group = {group: scalars for group, scalars in reversed(data["scalars"]) if scalars}
    # Before the states: `fused` decides where `step` stands.
    for group, saved in zip(zero.optimizer.param_groups, data["groups"]):
        for key, value in saved.items():
            group[key] = tuple(value) if isinstance(group.get(key), tuple) else value
    for flat in held:
        if flat.copied and flat.kinds() == ["master"]:
            continue  # it never had a gradient
        group = zero.optimizer.param_groups[flat.group]
        # torch keeps `step` beside the weights for these two (Optimizer._process_value_according_to_param_policy).
        place = flat.master.device if group.get("fused") or group.get("capturable") else None
        for key, value in (of_group.get(flat.group) or {}).items():
            now = flat.state.get(key)
            of_torch = type(zero.optimizer).__name__ in torch.optim.__dict__
            as_tensor = hasattr(now, "dtype") or (now is None and of_torch)
            dtype = getattr(now, "dtype", torch.float32)
            flat.state[key] = torch.tensor(value, dtype=dtype, device=place) if as_tensor else value
    for key, value in data["loss_scale"].items():
        setattr(zero.loss_scaler, key, value)
    for name in COUNTERS:
        setattr(engine, name, data["engine"][name])
    accumulation = int(engine.gradient_accumulation_steps())
    if data.get("accumulation") != accumulation:
        # DeepSpeed steps at each multiple of the accumulation: a save is at a step, with any number of ranks
        engine.micro_steps = int(engine.global_steps) * accumulation
    scheduler = getattr(engine, "lr_scheduler", None)
    if scheduler is not None and data["scheduler"] is not None:
        scheduler.load_state_dict(data["scheduler"])
