"""What ZeRO holds of the parameters that train: master weights and optimizer states, by parameter name.

ZeRO keeps them as flat tensors, one a group, of which each rank has a part. Stage 3 cuts every parameter
across the ranks (deepspeed/runtime/zero/partition_parameters.py: rank r has values r·s to (r+1)·s of each,
the last one padded); stages 1 and 2 lay the parameters end to end and give each rank a stretch. By name
and whole, they fit any number of ranks.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple


class NotHeld(Exception):
    """This engine keeps its state in a way that is not known here, and why."""


@dataclass(frozen=True)
class Part:
    """One parameter in a flat tensor. `offset` and `length` count values: of this rank's part under stage 3
    (where all ranks have the same), of the ranks' parts end to end under stages 1 and 2."""

    name: str
    shape: Tuple[int, ...]
    numel: int
    offset: int
    length: int


@dataclass(frozen=True)
class Flat:
    """This rank's part of one flat tensor: `master` weights, the optimizer's `state` of them, and its group's
    number in `param_groups`. `cut` says that each parameter is cut across the ranks (stage 3), `copied` that
    every rank has all of it (no ZeRO)."""

    master: Any
    state: Dict[str, Any]
    parts: Tuple[Part, ...]
    group: int
    cut: bool
    copied: bool = False

    def tensor(self, kind: str) -> Any:
        return self.master.data if kind == "master" else self.state[kind]

    def kinds(self) -> List[str]:
        """`master` and the names of the states that have a value for each value of it, sorted."""
        held = [key for key, value in self.state.items() if is_like(value, self.master)]
        return ["master", *sorted(held)]

    def scalars(self) -> Dict[str, Any]:
        """The states that are one number (Adam's `step`). Raises NotHeld for anything else."""
        found = {}
        for key, value in self.state.items():
            if is_like(value, self.master):
                continue
            if hasattr(value, "numel") and value.numel() != 1:
                raise NotHeld("the optimizer's state %s has %d values for %d weights"
                              % (key, value.numel(), self.master.numel()))  # fmt: skip
            found[key] = value.item() if hasattr(value, "item") else value
        return found


def is_like(value: Any, master: Any) -> bool:
    return hasattr(value, "numel") and value.dim() > 0 and value.numel() == master.numel()


def of_engine(engine: Any) -> List[Flat]:
    """The flat tensors of a DeepSpeed engine under ZeRO 1 to 3, or of what is in its place (`replicas`).

    Raises NotHeld, alike on every rank.
    """
    if hasattr(engine, "flats"):
        return list(engine.flats())
    zero = getattr(engine, "optimizer", None)
    names = {id(parameter): name for name, parameter in engine.module.named_parameters()}
    if hasattr(zero, "fp32_partitioned_groups_flat"):
        flats = _of_stage_3(zero, names)
    elif hasattr(zero, "single_partition_of_fp32_groups"):
        flats = _of_stage_1_2(zero, names)
    else:
        raise NotHeld("the engine runs without ZeRO: %s" % type(zero).__name__)
    if not flats:
        raise NotHeld("no parameter trains")
    return flats


ELSEWHERE = ("backup_optimizer", "superoffload_cpu_optimizer")
"""Of DeepSpeed's stage 3, with `offload_optimizer: {ratio}` below 1 and with SuperOffload: they hold the moments of
some or all sub-groups."""


def _of_stage_3(zero: Any, names: Dict[int, str]) -> List[Flat]:
    if getattr(zero, "swap_optimizer", False):
        raise NotHeld("the optimizer's states are on NVMe")
    if getattr(zero, "zenflow", False) or any(hasattr(zero, name) for name in ELSEWHERE):
        raise NotHeld("a part of the optimizer's states is not in zero.optimizer")
    world = world_size()
    flats = []
    for number, (master, group) in enumerate(zip(zero.fp32_partitioned_groups_flat, zero.fp16_groups)):
        parts, offset = [], 0
        for parameter in group:
            length = int(parameter.partition_numel())
            if length != -(-int(parameter.ds_numel) // world):
                raise NotHeld("%s is partitioned over fewer than all ranks" % names[id(parameter)])
            shape = tuple(int(size) for size in parameter.ds_shape)
            parts.append(Part(names[id(parameter)], shape, int(parameter.ds_numel), offset, length))
            offset += length
        state = zero.optimizer.state[master]
        flats.append(Flat(master, state, tuple(parts), int(zero.sub_group_to_group_id[number]), True))
    return flats


def _of_stage_1_2(zero: Any, names: Dict[int, str]) -> List[Flat]:
    import torch

    flats, world = [], world_size()
    paddings = getattr(zero, "round_robin_bit16_padding", None) or []
    if any(any(padding) for padding in paddings):
        raise NotHeld("parameters are aligned (zero_optimization.parameter_alignment)")
    groups = zip(zero.single_partition_of_fp32_groups, zero.round_robin_bit16_groups)
    for number, (master, group) in enumerate(groups):
        if torch.distributed.get_world_size(group=zero.real_dp_process_group[number]) != world:
            raise NotHeld("the states are partitioned over fewer than all ranks")
        parts, offset = [], 0
        for parameter in group:
            shape = tuple(int(size) for size in parameter.shape)
            parts.append(Part(names[id(parameter)], shape, parameter.numel(), offset, parameter.numel()))
            offset += parameter.numel()
        flats.append(Flat(master, zero.optimizer.state[master], tuple(parts), number, False))
    return flats


# ---- whose is what ----


def overlap(first: int, end: int, start: int, each: int) -> Optional[Tuple[slice, slice]]:
    """Where the values `first` to `end` and a rank's (`each` of them from `start` on) meet: as a slice of the
    former and as one of the latter; None if they do not."""
    low, high = max(first, start), min(end, start + each)
    if low >= high:
        return None
    return slice(low - first, high - first), slice(low - start, high - start)


# ---- from a whole tensor to this rank's part ----


def put(flat: Flat, part: Part, kind: str, whole: Any) -> None:
    """Copies this rank's share of a whole tensor (flat, any device) into the flat one; padding becomes 0."""
    tensor = flat.tensor(kind).view(-1)
    if flat.copied:
        tensor.copy_(whole)
        return
    if flat.cut:
        mine = whole[rank() * part.length : (rank() + 1) * part.length]
        tensor[part.offset : part.offset + mine.numel()].copy_(mine)
        tensor[part.offset + mine.numel() : part.offset + part.length].zero_()
        return
    held = overlap(part.offset, part.offset + part.numel, rank() * tensor.numel(), tensor.numel())
    if held is not None:
        tensor[held[1]].copy_(whole[held[0]])


def make_room(flat: Flat, kind: str, dtype: Any) -> None:
    """The optimizer makes its states at its first step; a resume comes before that."""
    import torch

    if kind != "master" and not is_like(flat.state.get(kind), flat.master):
        flat.state[kind] = torch.zeros_like(flat.master.data, dtype=dtype)


# ---- where we are ----


def device() -> Any:
    """The device for collectives: the accelerator's; the CPU under gloo."""
    import torch

    if torch.distributed.get_backend() == "gloo":
        return torch.device("cpu")
    if "deepspeed" not in sys.modules:
        return torch.device("cuda", torch.cuda.current_device())
    from deepspeed.accelerator import get_accelerator

    accelerator: Any = get_accelerator()
    return torch.device(accelerator.current_device_name())


def all_gathered(mine: Any) -> List[Any]:
    """The tensors of all ranks, in rank order; they have the same shape."""
    import torch

    found = [torch.empty_like(mine) for _ in range(world_size())]
    torch.distributed.all_gather(found, mine)
    return found


def rank() -> int:
    from torch import distributed

    return distributed.get_rank()


def world_size() -> int:
    from torch import distributed

    return distributed.get_world_size()
