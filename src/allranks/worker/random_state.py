"""The random states of every rank, as JSON: Python's, NumPy's, torch's and the accelerator's."""

from __future__ import annotations

import base64
import json
import random
import sys
from typing import Any, Dict, List

from allranks.worker import optimizer_state


def mine() -> Dict[str, Any]:
    """This rank's. NumPy's only if the script has imported it."""
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


def put(state: Dict[str, Any]) -> None:
    import torch

    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    torch.set_rng_state(tensor_of(state["torch"]))
    if "numpy" in state:
        import numpy

        name, keys, place, has_gauss, cached = state["numpy"]
        numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), place, has_gauss, cached))
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensor_of(state["cuda"]))


def restore(states: List[Any]) -> None:
    """Sets this rank's generators to its state of those saved; not if they are of another number of ranks."""
    if len(states) == optimizer_state.world_size():
        put(states[optimizer_state.rank()])


def gathered() -> List[Dict[str, Any]]:
    """All ranks' states in their order on rank 0, an empty list elsewhere. Collective."""
    import torch

    text = json.dumps(mine()).encode("utf-8")
    world, device = optimizer_state.world_size(), optimizer_state.device()
    length = torch.tensor([len(text)], dtype=torch.int64, device=device)
    lengths = [int(one.item()) for one in optimizer_state.all_gathered(length)]
    buffer = torch.zeros(max(lengths), dtype=torch.uint8)
    buffer[: len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    buffer = buffer.to(device)
    received = [torch.empty_like(buffer) for _ in range(world)] if optimizer_state.rank() == 0 else None
    torch.distributed.gather(buffer, received, dst=0)
    return [json.loads(one.cpu().numpy().tobytes()[:size]) for one, size in zip(received or (), lengths)]


def text_of(state: Any) -> str:
    return base64.b64encode(state.cpu().numpy().tobytes()).decode("ascii")


def tensor_of(text: str) -> Any:
    import torch

    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
