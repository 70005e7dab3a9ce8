"""torch itself: a loop that calls `backward` and `optimizer.step()`, alone or under Lightning or accelerate."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from allranks.worker import evaluation as evaluating
from allranks.worker import guard, operators, save_events, settings, step_timing
from allranks.worker.losses import RAW, SCALED, Losses
from allranks.worker.rank_reporter import Rank


def on_torch(rank: Rank, torch: Any) -> None:
    guard.guarded(operators.own_folder)()
    losses = Losses(rank)
    evaluation = evaluating.watch(rank, torch)
    watch_backward(rank, torch, losses, evaluation, step_timing.watch(rank, compiling(torch)))
    loop = PlainLoop(rank, losses, compiling(torch))
    # torch.optim forgets its own submodule's name (`del optimizer`).
    guard.loaded("torch.optim.optimizer").register_optimizer_step_post_hook(loop.stepped)
    watch_optimizers(rank)
    watch_join(rank, torch)
    save_events.watch(rank, torch, "save", save_events.of_loop(rank, saved_file))


def compiling(torch: Any) -> Any:
    """torch's own question whether dynamo traces this code: it must find nothing of allranks in a user's graph."""
    return getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)


def watch_backward(
    rank: Rank, torch: Any, losses: Losses, evaluation: evaluating.Evaluation, own: step_timing.StepTimer
) -> None:
    original = torch.Tensor.backward
    is_compiling = compiling(torch)

    def backward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_compiling():
            evaluation.end()
            rank.first_step()
            if rank.owner in (None, "torch"):
                losses.note(self)
            if own.since is not None and threading.get_ident() == own.thread:
                step_timing.backward(own)
                own.in_backward = True
                try:
                    return original(self, *args, **kwargs)
                finally:
                    own.in_backward = False
        return original(self, *args, **kwargs)

    torch.Tensor.backward = guard.dressed(guard.not_compiled(backward), original)


ALONE = 3
"""So many steps of another optimizer, with none of the clock's in between, make it the clock. In a GAN the optimizers
take turns; in a k-fold training, or one of several phases, each phase has its own, while the earlier ones often live
on."""


class PlainLoop:
    """Counts the steps of one optimizer, the clock: the first that steps, until another one steps alone."""

    def __init__(self, rank: Rank, losses: Losses, is_compiling: Any):
        self.rank, self.losses, self.is_compiling = rank, losses, is_compiling
        self.steps = 0
        self._clock: Any = None
        self._others: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        """The steps of each other optimizer since the clock's last one."""

    def stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """torch calls this after every `step()` of every optimizer."""
        if not self.is_compiling() and self.rank.owner in (None, "torch"):
            self._stepped(optimizer)

    @guard.guarded
    def _stepped(self, optimizer: Any) -> None:
        rank = self.rank
        if not rank.is_here:
            return
        clock = None if self._clock is None else self._clock()
        if clock is None:
            self._clock = weakref.ref(optimizer)
        elif clock is not optimizer:
            self._other(optimizer)
            return
        elif self._others:
            self._others.clear()
        if rank.owner is None:
            rank.owner = "torch"
            settings.tell(rank, settings.of_optimizer(rank, optimizer))
            rank.told = None  # the batch's digest is in them
        rank.reach("training")
        rank.evaluation.end()
        self.steps += 1
        rate = optimizer.param_groups[0]["lr"]
        # One on a GPU is not waited for.
        rank.end_step(self.steps, None if getattr(rate, "is_cuda", False) else float(rate))
        self.losses.settle(mean=False)
        rank.release()

    def _other(self, optimizer: Any) -> None:
        """A step of an optimizer that is not the clock. Those that turn out to count are counted, without a record."""
        alone = self._others[optimizer] = self._others.get(optimizer, 0) + 1
        if alone < ALONE:
            return
        self._clock = weakref.ref(optimizer)
        self._others.clear()
        self.steps += alone
        self.losses.forget()
        self.rank.begin()


def watch_optimizers(rank: Rank) -> None:
    """A script that makes an optimizer is about to train."""
    optimizer = guard.loaded("torch.optim.optimizer").Optimizer

    def made(kept: Any) -> None:
        rank.is_prepared = True

    optimizer.__init__ = guard.around(optimizer.__init__, after=made)


def watch_join(rank: Rank, torch: Any) -> None:
    """`init_process_group` returns when all ranks have joined: a rank that waits in it is not hung, and reports that
    it waits. A rank that destroys the group has taken its last step and continues alone."""
    distributed = guard.loaded("torch.distributed")
    inner = guard.loaded("torch.distributed.distributed_c10d")
    if distributed is None or inner is None or not hasattr(inner, "init_process_group"):
        return

    def before(args: Any, kwargs: Any) -> None:
        rank.reach("preparing")
        if rank.at_join is not None:
            guard.guarded(rank.at_join)()
        rank.doing = "waiting for the other ranks to join"
        rank.wake.set()

    def after(kept: Any) -> None:
        rank.doing = None

    joined = guard.around(inner.init_process_group, before, after)
    for module in (inner, distributed):
        if hasattr(module, "init_process_group"):
            module.init_process_group = joined

    def leaving(args: Any, kwargs: Any) -> None:
        if rank.step is not None and (args[0] if args else kwargs.get("group")) is None:
            rank.reach("done")

    left = guard.around(inner.destroy_process_group, leaving)
    for module in (inner, distributed):
        if hasattr(module, "destroy_process_group"):
            module.destroy_process_group = left


def saved_file(args: Any, kwargs: Any) -> Any:
    """The path that torch.save writes to; None for a buffer, and for a part of a distributed checkpoint."""
    target = args[1] if len(args) > 1 else kwargs.get("f")
    if hasattr(target, "write"):
        target = getattr(target, "name", None)  # `with open("model.pt", "wb") as file`
    is_whole = isinstance(target, (str, os.PathLike)) and not os.fspath(target).endswith(".distcp")
    return target if is_whole else None


def on_grad_scaler(rank: Rank, module: Any) -> None:
    """torch.amp.grad_scaler: the scaled tensor remembers the loss that it was made from."""
    original = module.GradScaler.scale

    def scale(self: Any, outputs: Any) -> Any:
        scaled = original(self, outputs)
        remember(scaled, outputs)
        return scaled

    module.GradScaler.scale = guard.dressed(scale, original)


@guard.guarded
def remember(scaled: Any, outputs: Any) -> None:
    if scaled is not outputs and hasattr(outputs, "detach"):
        setattr(scaled, RAW, outputs.detach())
        SCALED[:] = [True]
