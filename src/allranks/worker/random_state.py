"""The random states of every rank, as JSON: Python's, NumPy's, torch's and the accelerator's."""

from __future__ import annotations

import base64
import json
import random
import sys
from typing import Any, Dict, List, Optional

from allranks.worker import optimizer_state


def mine() -> Dict[str, Any]:
    """This rank's. NumPy only where the script has imported it."""
    import torch

    version, internal, gauss = random.getstate()
    found: Dict[str, Any] = {
        "python": [version, list(internal), gauss],
        "torch": text_of(torch.get_rng_state()),
    }
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        name, keys, place, has_gauss, cached = numpy.random.get_state()
        found["numpy"] = [str(name), keys.tolist(), int(place), int(has_gauss), float(cached)]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        found["cuda"] = text_of(torch.cuda.get_rng_state())
    return found


def put(state: Optional[Dict[str, Any]]) -> bool:
    """Sets this rank's generators; False where there is no state for it (another number of ranks)."""
    import torch

    if not state:
        return False
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    torch.set_rng_state(tensor_of(state["torch"]))
    if "numpy" in state:
        import numpy

        name, keys, place, has_gauss, cached = state["numpy"]
        numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), place, has_gauss, cached))
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensor_of(state["cuda"]))
    return True


def of_rank(states: List[Any], rank: int, world_size: int) -> Optional[Dict[str, Any]]:
    """This rank's state of those saved; None where they are of another number of ranks."""
    return states[rank] if len(states) == world_size else None


def gathered() -> List[Dict[str, Any]]:
    """All ranks' states in their order on rank 0, an empty list elsewhere. Collective."""
    import torch

    text = json.dumps(mine()).encode("utf-8")
    world, device = optimizer_state.world_size(), optimizer_state.device()
    length = torch.tensor([len(text)], dtype=torch.int64, device=device)
    lengths = [torch.empty_like(length) for _ in range(world)]
    torch.distributed.all_gather(lengths, length)
    most = max(int(one.item()) for one in lengths)
    buffer = torch.zeros(most, dtype=torch.uint8)
    buffer[: len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    buffer = buffer.to(device)
    all_of_them = [torch.empty_like(buffer) for _ in range(world)] if optimizer_state.rank() == 0 else None
    torch.distributed.gather(buffer, all_of_them, dst=0)
    if all_of_them is None:
        return []
    return [
        json.loads(one.cpu().numpy().tobytes()[: int(size.item())]) for one, size in zip(all_of_them, lengths)
    ]


def text_of(state: Any) -> str:
    return base64.b64encode(state.cpu().numpy().tobytes()).decode("ascii")


def tensor_of(text: str) -> Any:
    import torch

    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
