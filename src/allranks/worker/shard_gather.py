"""Puts parameters of ZeRO-3 together from the ranks' parts: one collective for as many as fit into a piece.

Rank r has values r·s to (r+1)·s of a parameter (DeepSpeed's `ds_tensor`), the last part padded. DeepSpeed's own
gather makes the parameters whole on every rank; a save needs them on the rank that writes. Reads parts and changes
nothing of the model. Only for parts that `gather_check.held` can read.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from allranks.worker import optimizer_state


def gather(piece: List[Tuple[str, Any]], keepers: List[int]) -> Optional[Dict[str, Any]]:
    """CPU copies of the named parameters on each rank of `keepers`, None on the others. Collective.

    If only rank 0 writes, it gets everything and the other ranks nothing: the network carries the adapter only once.
    """
    import torch

    device = optimizer_state.device()
    mine = torch.cat([_own(parameter).to(device) for _, parameter in piece])
    rank, one_writes = optimizer_state.rank(), keepers == [0]
    receives = rank == 0 or not one_writes
    rows = [torch.empty_like(mine) for _ in range(optimizer_state.world_size())] if receives else None
    if one_writes:
        torch.distributed.gather(mine, rows, dst=0)
    else:
        torch.distributed.all_gather(rows, mine)
    if rows is None or rank not in keepers:
        return None
    rows, found, begin = [row.cpu() for row in rows], {}, 0
    for name, parameter in piece:
        end = begin + _own(parameter).numel()
        found[name] = _whole(parameter, [row[begin:end] for row in rows])
        begin = end
    return found


def _own(parameter: Any) -> Any:
    """The bytes of this rank's part, padding included: uint8 [s · element size]."""
    import torch

    return parameter.ds_tensor.detach().reshape(-1).view(torch.uint8)


def _whole(parameter: Any, parts: List[Any]) -> Any:
    import torch

    values = torch.cat(parts).view(parameter.ds_tensor.dtype)
    if values.numel() > parameter.ds_numel:  # who writes a whole storage must not write the padding
        values = values[: int(parameter.ds_numel)].clone()
    return values.reshape(parameter.ds_shape)
