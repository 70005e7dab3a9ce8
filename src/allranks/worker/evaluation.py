"""Evaluations of a loop of the user's own, which no library announces.

One begins where the script calls `eval()` on a model that is trained, or reads a second batch in a row with
gradients off; it ends with the next backward pass, step, or batch that is read with gradients on. (One batch may
be read ahead with gradients off: prefetchers do that.) A Trainer says it itself.
"""

from __future__ import annotations

import threading
from typing import Any, Optional, Tuple

from allranks.worker import guard
from allranks.worker.rank_reporter import Rank

OWNERS = ("torch", "deepspeed")
BATCHES = 2


class Evaluation:
    """One rank's; `end` is called in every step and costs two comparisons where nothing is evaluated."""

    def __init__(self, rank: Rank):
        self.rank = rank
        self._entered: Optional[Tuple[str, float]] = None
        self._without_gradients = 0

    def begin(self) -> None:
        rank = self.rank
        can = self._entered is None and rank.owner in OWNERS and rank.step is not None and rank.is_here
        if can and not rank.is_in("evaluating") and threading.current_thread() is threading.main_thread():
            self._entered = rank.enter("evaluating")

    def end(self) -> None:
        self._without_gradients = 0
        if self._entered is not None:
            entered, self._entered = self._entered, None
            self.rank.leave(entered)

    def fetches(self) -> None:
        """The training's own thread is about to read a batch."""
        torch = guard.loaded("torch")
        if torch is None or torch.is_grad_enabled():
            self.end()
            if self.rank.is_prepared:
                self.rank.first_step()
            return
        self._without_gradients += 1
        if self._without_gradients >= BATCHES:
            self.begin()


def watch(rank: Rank, torch: Any) -> Evaluation:
    """Put into torch.nn.Module; `eval()` of a part that is frozen (a batch norm, a reference model) is none."""
    evaluation = rank.evaluation = Evaluation(rank)

    def before(args: Any, kwargs: Any) -> None:
        module = args[0]
        if module.training and any(p.requires_grad for p in module.parameters()):
            evaluation.begin()

    torch.nn.Module.eval = guard.around(torch.nn.Module.eval, before)
    return evaluation
