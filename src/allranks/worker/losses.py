"""The loss of each step, taken from the values that the script backpropagates."""

from __future__ import annotations

from typing import Any, List

from allranks.worker import guard
from allranks.worker.gpu import Meter
from allranks.worker.rank_reporter import Rank

KEPT = 256
RAW = "_allranks_loss"
"""Set on a tensor that a GradScaler made: the loss before it was multiplied for fp16's sake."""

SCALED: List[bool] = []
"""True in it once a GradScaler has scaled anything: a tensor without the attribute costs a search of its classes."""


class Losses:
    """Collects the losses of the micro-steps and gives each step its own.

    `mean` for DeepSpeed, which divides by the accumulation itself and so is given whole losses. A plain loop
    divides each before `backward`: there the sum is the loss whose gradient the step applied.
    """

    def __init__(self, rank: Rank):
        self.rank = rank
        self.meter = Meter(rank)
        self._seen: List[Any] = []

    @guard.guarded
    def note(self, tensor: Any) -> None:
        """A loss is being backpropagated. A GPU's is kept as it is, and not waited for."""
        if tensor.numel() != 1 or len(self._seen) >= KEPT:
            return
        value = getattr(tensor, RAW, tensor) if SCALED else tensor
        if value.is_cpu:
            self._seen.append(float(value.item()))
        elif value.is_cuda:
            self._seen.append(value.detach())

    @guard.guarded
    def forget(self) -> None:
        """The noted losses belong to steps that have no record."""
        self._seen = []

    def settle(self, mean: bool) -> None:
        """Gives the held record its loss, at once or when it has come from the GPU."""
        seen, self._seen = self._seen, []
        record = self.rank.held
        if record is None:
            return
        if len(seen) == 1 and type(seen[0]) is float:
            record[1], seen = seen[0], []
        elif seen and all(isinstance(value, float) for value in seen):
            record[1] = sum(seen) / (len(seen) if mean else 1)
            seen = []
        self.meter.step([value for value in seen if not isinstance(value, float)] if seen else seen, mean)
