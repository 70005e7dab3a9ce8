"""Checks at each save that the gathered values are those that the ranks hold, by a checksum of every rank's own part.

Under ZeRO-3 rank r has values r·s to (r+1)·s of a parameter (DeepSpeed's `ds_tensor`), the last part padded. Each
rank sums the bits of its parts. One collective of 8 bytes per parameter and rank brings all sums to all ranks. A rank
that writes compares them with the same sums over the values that it gathered. So a gather that ended early, mixed two
tensors up or wrote into freed memory is found before a file is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from allranks.worker import guard, optimizer_state

PROVED = "proved"
NOT_LOOKED = "not looked at: "
WHOLE = NOT_LOOKED + "no parameter is divided among the ranks"

CHUNK = 1 << 18
"""Values summed at once: two temporaries of 2 MiB, however large a parameter is."""

REASONS = (
    "",
    "a part is on NVMe",
    "the parts are quantized",
    "the parts are held twice (hpZ)",
    "the parts are divided among other groups than all ranks",
    "the parts are gathered in another type than they are held in",
    "a rank could not read its parts",
)
"""Why parts cannot be compared; ranks send the number."""


# ---- what the ranks hold ----


@dataclass(frozen=True)
class Held:
    """`table`: for each rank its checksum of each parameter; `reason`: why they are none; `keepers`: the ranks that
    write."""

    table: List[List[int]]
    reason: str
    keepers: List[int]


def held(parameters: List[Any], keep: bool) -> Held:
    """The sums of the ranks' parts, and the ranks that write. One collective, whatever a rank finds."""
    import torch

    device = optimizer_state.device()
    mine = torch.zeros(2 + len(parameters), dtype=torch.int64, device=device)
    mine[1] = int(keep)
    try:
        mine[0] = max(_reason(one) for one in parameters)
        if not mine[0].item():
            mine[2:] = torch.stack([_own(one).to(device) for one in parameters])
    except Exception as error:  # whatever it is: the other ranks wait in the collective below
        guard.note("checksums of the parts", error)
        mine[0] = len(REASONS) - 1
    rows = [row.tolist() for row in optimizer_state.all_gathered(mine)]
    keepers = [rank for rank, row in enumerate(rows) if row[1]]
    return Held([row[2:] for row in rows], REASONS[max(row[0] for row in rows)], keepers)


def _reason(parameter: Any) -> int:
    """The index in REASONS of why a parameter's part cannot be compared; 0 if it can."""
    part = parameter.ds_tensor
    location = getattr(part, "final_location", None)
    if str(getattr(location, "value", location)) == "nvme":
        return 1
    if hasattr(part, "ds_quant_scale"):
        return 2
    if getattr(parameter, "ds_secondary_tensor", None) is not None:
        return 3
    length, world = int(getattr(part, "ds_numel", part.numel())), optimizer_state.world_size()
    if length < 1 or -(-int(parameter.ds_numel) // world) != length or _ranks(parameter) != world:
        return 4
    if getattr(parameter, "comm_dtype", part.dtype) != part.dtype or parameter.dtype != part.dtype:
        return 5  # torch's autocast under DeepSpeed: the gather itself rounds
    return 0


def _ranks(parameter: Any) -> int:
    """Of the group that a parameter is divided among."""
    import torch

    group = getattr(parameter, "ds_process_group", None)
    return int(torch.distributed.get_world_size(group=group))


def _own(parameter: Any) -> Any:
    """The checksum of this rank's part, without its padding, whose content has no meaning."""
    import torch

    length = int(parameter.ds_tensor.ds_numel)
    valid = min(length, max(0, int(parameter.ds_numel) - optimizer_state.rank() * length))
    part = parameter.ds_tensor.detach().reshape(-1)[:valid]
    return sums(part, length)[0] if valid else torch.zeros((), dtype=torch.int64)


def sums(values: Any, length: int) -> Any:
    """int64 [parts]: a checksum of each part of `length` values (the last may be shorter) of a flat tensor.

    Σ bits · (2·position + 1) mod 2^64: odd weights, so that no change of one value is lost, and a place counts.
    """
    import torch

    bits = values.view({1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[values.element_size()])
    count = bits.numel()
    parts, rows = -(-count // length), max(1, CHUNK // length)
    found = torch.zeros(parts, dtype=torch.int64, device=bits.device)
    for column in range(0, length, CHUNK):
        end = min(column + CHUNK, length)
        weights = torch.arange(column, end, dtype=torch.int64, device=bits.device).mul_(2).add_(1)
        for row in range(0, parts, rows):  # several rows only if one column holds a whole part
            first = row * length + column
            piece = bits[first : min(count, first + (min(rows, parts - row) - 1) * length + len(weights))]
            if not piece.numel():
                continue
            piece = torch.nn.functional.pad(piece.to(torch.int64), (0, -piece.numel() % len(weights)))
            found[row : row + rows] += piece.view(-1, len(weights)).mul_(weights).sum(1)
    return found


# ---- against what was gathered ----


def differing(
    named: List[Tuple[str, Any]], table: List[List[int]], state: Optional[Dict[str, Any]]
) -> List[Tuple[int, int]]:
    """(index of a parameter, the first rank whose part is another) of all that differ for any rank that writes.
    Collective; the same on every rank. `state` is None on a rank that gathered for others."""
    import torch

    found = torch.zeros(len(named), dtype=torch.int32, device=optimizer_state.device())
    for index, (name, parameter) in enumerate(named if state is not None else ()):
        assert state is not None
        rank = _first_wrong(state[name], parameter, [row[index] for row in table])
        if rank is not None:
            found[index] = 1 + rank
    torch.distributed.all_reduce(found, op=torch.distributed.ReduceOp.MAX)
    return [(index, rank - 1) for index, rank in enumerate(found.tolist()) if rank]


def _first_wrong(gathered: Any, parameter: Any, theirs: List[int]) -> Optional[int]:
    """The first rank whose checksum differs from that of its place in the gathered values."""
    if gathered.dtype != parameter.ds_tensor.dtype or gathered.numel() != parameter.ds_numel:
        return 0
    ours = sums(gathered.reshape(-1), int(parameter.ds_tensor.ds_numel)).tolist()
    return next((rank for rank, (one, other) in enumerate(zip(ours, theirs)) if one != other), None)
