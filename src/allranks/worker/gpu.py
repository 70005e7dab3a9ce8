"""Facts about the GPU that it gives without a wait. Everything here runs in the training's own thread, between two
steps: a call into CUDA from another thread could wait for a collective that hangs."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Optional

from allranks.worker import guard
from allranks.worker.rank_reporter import Rank


def cuda() -> Any:
    """torch.cuda if the script has initialized it, else None. Never initializes it."""
    torch = guard.loaded("torch")
    module = getattr(torch, "cuda", None)
    return module if module is not None and module.is_initialized() else None


OTHERS = ("torch_npu", "habana_frameworks.torch", "torch_xla")
"""Modules that put torch on an accelerator other than torch.cuda."""


def is_elsewhere() -> bool:
    """Whether the script trains, or may train, on such an accelerator."""
    xpu = getattr(guard.loaded("torch"), "xpu", None)
    if xpu is not None and xpu.is_initialized():
        return True
    return any(guard.loaded(name) is not None for name in OTHERS)


def identity() -> Optional[Dict[str, Any]]:
    """`{name, uuid, bus_id}` of this rank's GPU; a part that this version of torch does not offer is None."""
    module = cuda()
    if module is None:
        return None
    seen = module.get_device_properties(module.current_device())
    uuid = getattr(seen, "uuid", None)
    bus = [getattr(seen, name, None) for name in ("pci_domain_id", "pci_bus_id", "pci_device_id")]
    return {
        "name": getattr(seen, "name", None),
        # nvidia-smi's form; torch leaves the beginning out.
        "uuid": None if uuid is None else "GPU-" + str(uuid).replace("GPU-", ""),
        # nvidia-smi's form, whose function is always 0.
        "bus_id": None if None in bus else "{:08X}:{:02X}:{:02X}.0".format(*bus),
    }


class Meter:
    """Memory and loss of a training on a GPU, looked at once a beat at most."""

    def __init__(self, rank: Rank):
        self.rank = rank
        self._due = 0.0
        self._event: Any = None
        self._host: Any = None

    @guard.guarded
    def step(self, losses: List[Any], mean: bool) -> None:
        """A step ended, its record is held. `losses` are what was backpropagated, still on the GPU."""
        now = time.monotonic()
        if now < self._due and self._event is None:  # of nearly every step
            return
        module = cuda()
        if module is None:
            self._due = now + self.rank.place.beat_seconds
            return
        if module.is_current_stream_capturing():
            return
        self._collect()
        if now < self._due:
            return
        self._due = now + self.rank.place.beat_seconds
        self.rank.gpu_memory = {
            "gpu_bytes": module.memory_allocated(),
            "gpu_peak_bytes": module.max_memory_allocated(),
        }
        if losses and self._event is None:
            self._send(module, losses, mean)

    def _send(self, module: Any, losses: List[Any], mean: bool) -> None:
        """Starts the copy of one number and waits for nothing."""
        torch = guard.loaded("torch")
        values = torch.stack([loss.float().reshape(()) for loss in losses])
        if self._host is None:
            self._host = torch.empty((), dtype=torch.float32, pin_memory=True)
        self._host.copy_(values.mean() if mean else values.sum(), non_blocking=True)
        self._event = module.Event()
        self._event.record()
        self.rank.wait_for_loss()

    def _collect(self) -> None:
        if self._event is not None and self._event.query():
            self._event = None
            self.rank.loss_came(float(self._host))
