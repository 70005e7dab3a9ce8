"""Reads this rank's stretches of the files into its parts, and compares samples of the parts with the files."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, List, Optional

from allranks.worker.block_scales import Scales
from allranks.worker.partition_plan import Own
from allranks.worker.weight_files import ITEM_BYTES, PIECE_BYTES, CannotRead, Files, memory_of

TYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
SCALED_VALUES = 4 << 20
"""Of one piece that is multiplied: 16 MiB in float32."""
SAMPLED_PARTS = 64
SAMPLED_VALUES = 16
COMPARED_AT_ONCE = 8
"""Parts for which a file stays open: it is mapped, and each sample brings its neighbours into memory."""


def dtype_of(torch: Any, name: str) -> Any:
    """torch's dtype for one of the format's names; None if there is none here."""
    return getattr(torch, TYPES.get(name, ""), None)


Read = Callable[[str, int, memoryview], None]
"""Fills memory with a tensor's bytes, from a number on: `Files.read`, or a cache of what that gives."""


def fill(one: Own, files: Files, scales: Optional[Scales], tell: Callable[[int], None], read: Read) -> None:
    """Puts the values into one part, zeros into its padding. `tell` hears of each piece's bytes.

    Values of another dtype are converted as `copy_` does, value for value; those with scales are multiplied before.
    Raises CannotRead.
    """
    import torch

    target, done = one.part.detach(), 0
    with torch.no_grad():
        for stretch in one.stretches:
            place = files.tensors[stretch.name]
            item, dtype = ITEM_BYTES[place.dtype], dtype_of(torch, place.dtype)
            scaled = scales if scales is not None and scales.of(stretch.name) is not None else None
            first, left = stretch.first, stretch.length
            while left:
                count = min(left, SCALED_VALUES if scaled else PIECE_BYTES // item)
                here = target[done : done + count]
                if dtype == here.dtype and here.device.type == "cpu":
                    read(stretch.name, first * item, memory_of(here))
                else:
                    piece = plain_memory(torch, count * item, dtype)
                    read(stretch.name, first * item, memory_of(piece))
                    here.copy_(scaled.multiply(stretch.name, first, piece) if scaled else piece)
                tell(count * item)
                first, left, done = first + count, left - count, done + count
        if done < target.numel():
            target[done:].zero_()


def plain_memory(torch: Any, size: int, dtype: Any) -> Any:
    """A tensor of the CPU with `size` bytes. Within a `zero.Init` of the script's own, DeepSpeed's `torch.empty` gives
    floating-point numbers of another type than is asked for."""
    return torch.empty(size, dtype=torch.uint8).view(dtype)


class Differs(CannotRead):
    """A part that does not hold what its file does."""


def bytes_of(own: List[Own], files: Files) -> int:
    """As they are stored."""
    return sum(
        stretch.length * ITEM_BYTES[files.tensors[stretch.name].dtype]
        for one in own
        for stretch in one.stretches
    )


def compare_samples(own: List[Own], files: Files, scales: Optional[Scales]) -> None:
    """Raises Differs if a sampled value of a part is not what safetensors' own reader finds in the file."""
    chosen = [own[number * len(own) // SAMPLED_PARTS] for number in range(min(SAMPLED_PARTS, len(own)))]
    if len(own) <= SAMPLED_PARTS:
        chosen = own
    for begin in range(0, len(chosen), COMPARED_AT_ONCE):
        with contextlib.ExitStack() as stack:
            stored = values_of(files, stack)
            for one in chosen[begin : begin + COMPARED_AT_ONCE]:
                compare(one, stored, scales)


def compare(one: Own, stored: Callable[[str], Any], scales: Optional[Scales]) -> None:
    import torch

    done = 0
    sampled = one.stretches[:: max(1, len(one.stretches) // 4)][:4]
    for stretch in one.stretches:
        if stretch in sampled:
            step = max(1, stretch.length // SAMPLED_VALUES)
            places = torch.arange(0, stretch.length, step)
            wanted = stored(stretch.name)[places + stretch.first]
            if scales is not None and scales.of(stretch.name) is not None:
                wanted = wanted.to(torch.float32) * scales.at(stretch.name, places + stretch.first)
            wanted = wanted.to(one.part.dtype)
            found = one.part.detach()[(places + done).to(one.part.device)].cpu()
            if not torch.equal(wanted.view(torch.uint8), found.view(torch.uint8)):
                raise Differs("%s is not what its file holds" % one.name)
        done += stretch.length


def values_of(files: Files, stack: contextlib.ExitStack) -> Callable[[str], Any]:
    """A function that gives a stored tensor's values as safetensors reads them. Each file is opened once, until `stack`
    ends: its header may be long."""
    from safetensors import safe_open

    opened: Dict[int, Any] = {}

    def values(name: str) -> Any:
        number = files.tensors[name].file
        if number not in opened:
            opened[number] = stack.enter_context(safe_open(files.paths[number], framework="pt"))
        return opened[number].get_tensor(name).view(-1)

    return values
