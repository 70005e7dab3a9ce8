"""DeepSpeed, driven by the user's own script or by accelerate. Under a Trainer, the Trainer's callback reports the
steps."""

from __future__ import annotations

import os
import weakref
from typing import Any

from allranks.worker import guard, lockstep, moe, save_events, settings, torch_hooks
from allranks.worker.losses import Losses
from allranks.worker.rank_reporter import Rank


def on_deepspeed(rank: Rank, module: Any) -> None:
    """deepspeed: `initialize` gives the engine, and is the last moment to mark leaf modules or to hook experts."""
    original = module.initialize

    def initialize(*args: Any, **kwargs: Any) -> Any:
        entered = preparing(rank, args, kwargs)
        experts = arranging(rank, args, kwargs)
        try:
            result = original(*args, **kwargs)
        finally:
            prepared(rank, entered)
        if experts is not None:
            note = experts.begin(result[0])
            if note:
                rank.notes.append(note)
        initialized(rank, result)
        return result

    module.initialize = guard.dressed(initialize, original)


@guard.guarded
def preparing(rank: Rank, args: Any, kwargs: Any) -> Any:
    """The phase as it is entered: a script may have looked at a batch, which began the first step."""
    rank.reach("preparing")
    return None if rank.has_trainer else rank.enter("preparing")


@guard.guarded
def arranging(rank: Rank, args: Any, kwargs: Any) -> Any:
    """Experts that are modules of their own become a leaf, or run in lockstep, which begins with the engine."""
    note, experts = moe.arrange(args, kwargs, os.environ.get(lockstep.VARIABLE))
    if note:
        rank.notes.append(note)
    return experts


@guard.guarded
def prepared(rank: Rank, entered: Any) -> None:
    if entered is not None:
        rank.leave(entered)


@guard.guarded
def initialized(rank: Rank, result: Any) -> None:
    engine, _, loader, _ = result
    rank.engine = weakref.ref(engine)
    if rank.has_trainer or getattr(engine, "optimizer", None) is None:  # without one it only infers
        return
    rank.owner = "deepspeed"
    rank.is_prepared = True
    settings.tell(rank, settings.of_engine(rank, engine, loader))
    rank.begin()


def on_engine(rank: Rank, module: Any) -> None:
    """deepspeed.runtime.engine: steps, losses and saves of every engine."""
    engine = module.DeepSpeedEngine
    is_compiling = torch_hooks.compiling(guard.loaded("torch"))
    losses = Losses(rank)

    def backward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if rank.owner == "deepspeed":
            rank.first_step()
            loss = args[0] if args else kwargs.get("loss")
            losses.note(loss)
        return original_backward(self, *args, **kwargs)

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        # dynamo takes the question for a constant, and finds nothing of allranks in a graph.
        if not is_compiling() and self.training:
            forwarding(rank)
        return original_forward(self, *args, **kwargs)

    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = getattr(self, "global_steps", None)
        result = original_step(self, *args, **kwargs)
        if rank.owner == "deepspeed":
            stepped(rank, self, before, losses)
        return result

    def begin(args: Any, kwargs: Any) -> Any:
        folder = args[1] if len(args) > 1 else kwargs.get("save_dir")
        tag = args[2] if len(args) > 2 else kwargs.get("tag")
        return save_events.begin(rank, os.path.join(str(folder), str(tag)) if tag else folder)

    original_forward: Any = getattr(engine, "forward", None)
    original_backward, original_step = engine.backward, engine.step
    engine.backward = guard.dressed(backward, original_backward)
    engine.step = guard.dressed(step, original_step)
    if original_forward is not None:
        engine.forward = guard.dressed(guard.not_compiled(forward), original_forward)
    for name in ("save_checkpoint", "save_16bit_model"):
        save_events.watch(rank, engine, name, begin)


def on_pipeline(rank: Rank, module: Any) -> None:
    """deepspeed.runtime.pipe.engine: `train_batch` is a whole step, and calls no `step()`; its loss is all stages'."""
    engine = module.PipelineEngine
    original, losses = engine.train_batch, Losses(rank)

    def train_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = getattr(self, "global_steps", None)
        if rank.owner == "deepspeed":
            rank.first_step()  # a later stage may wait long for its first forward pass
            if rank.evaluation is not None:  # one in the middle reads no batch that would end it
                rank.evaluation.end()
        loss = original(self, *args, **kwargs)
        if rank.owner == "deepspeed":
            losses.note(loss)
            stepped(rank, self, before, losses)
        return loss

    engine.train_batch = guard.dressed(train_batch, original)


def forwarding(rank: Rank) -> None:
    """A forward pass of the training begins."""
    if rank.owner == "deepspeed":
        rank.first_step()
    if rank.own is not None:
        rank.own.works()


@guard.guarded
def stepped(rank: Rank, engine: Any, before: Any, losses: Losses) -> None:
    """`engine.step()` is called after every micro-step; `global_steps` moves with the optimizer."""
    after = engine.global_steps
    if before is None or after <= before:
        return
    rank.reach("training")
    rates = settings.engine_value(engine, "get_lr")
    rank.end_step(after, float(rates[0]) if rates else None)
    losses.settle(mean=True)
    rank.release()
    settings.tell_data(rank, engine.module)
