"""A digest of the trainable parameters' values: replicas that start from different ones are seen at once.

The first values of each parameter are enough: what is initialized at random differs in its first number
already. They leave the GPU in one copy.
"""

from __future__ import annotations

import hashlib
from typing import Any, Iterable, List, Optional

from allranks.inside import guard

VALUES = 16
"""Of each parameter."""

PARAMETERS = 4096


@guard.guarded
def trainable(found: Iterable[Any]) -> Optional[str]:
    """Hex; None where a rank holds a part alone (ZeRO-3, FSDP, tensor parallelism), or nothing trains."""
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
        or getattr(
            parameter, "_fsdp_flattened", False
        )  # FSDP1 with use_orig_params: a view into its flat part
        or hasattr(parameter, "placements")
        or getattr(parameter, "tensor_model_parallel", False)
        or not parameter.is_contiguous()
        or parameter.device.type == "meta"
    )
