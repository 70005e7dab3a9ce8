"""transformers' Trainer, and so LLaMA-Factory and TRL: one more default callback, and the saves watched."""

from __future__ import annotations

import os
from math import isfinite
from typing import Any, List

from allranks.worker import guard, preemption_notice, save_events, settings
from allranks.worker.gpu import Meter
from allranks.worker.rank_reporter import Rank

LOGGED = ((1, "loss"), (5, "learning_rate"), (7, "grad_norm"))
"""The index in a step's record (`core.rank_events.Step`) of each value that a Trainer logs."""


def on_trainer(rank: Rank, module: Any) -> None:
    """transformers.trainer: every Trainer begins with the callbacks of this list."""
    module.DEFAULT_CALLBACKS.append(
        callback(rank, guard.loaded("transformers.trainer_callback").TrainerCallback)
    )
    guard.guarded(save_small)(rank, module)
    watch_saves(rank, module.Trainer)
    step = getattr(module.Trainer, "training_step", None)
    if step is not None:
        module.Trainer.training_step = keeping_loss(step)
    for name in ("evaluation_loop", "prediction_loop"):
        original = getattr(module.Trainer, name, None)
        if original is not None:
            setattr(module.Trainer, name, evaluating(rank, original))


def save_small(rank: Rank, module: Any) -> None:
    """Adapters under DeepSpeed are saved by gathering what trains alone (see `adapters`)."""
    from allranks.worker import disk_space, trainer_checkpoints

    disk_space.TOLD.append(rank)
    if trainer_checkpoints.patch_trainer(module):
        rank.notes.append(
            "An adapter under DeepSpeed is saved by gathering its own parameters and no others."
        )


def callback(rank: Rank, base: Any) -> Any:
    """The callback's class. It asks for a save after the first step, and for one and the end after a notice."""
    meter = Meter(rank)
    rehearsal = Rehearsal()
    leave = preemption_notice.Notice(rank)

    class AllranksCallback(base):
        @guard.guarded
        def on_init_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            rank.has_trainer = True
            rank.reach("preparing")

        @guard.guarded
        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            rank.owner = "trainer"
            rank.total_steps = state.max_steps
            found = settings.of_trainer(rank, args, state, kwargs["model"], kwargs.get("train_dataloader"))
            settings.tell(rank, found)
            rank.begin()
            rank.reach("training")
            leave.step = state.global_step
            if hasattr(kwargs["model"], "peft_config"):
                leave.watch()

        @guard.guarded
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            rank.end_step(state.global_step)
            meter.step([], False)
            settings.tell_data(rank, kwargs.get("model"))
            if rehearsal.is_due(kwargs.get("model"), getattr(args, "output_dir", None)):
                control.should_save = True
            if leave.is_due(state.global_step):
                control.should_save = control.should_training_stop = True
            if not control.should_log:  # else the loss comes in a moment, with on_log
                rank.release()

        @guard.guarded
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            record = rank.held
            if record is None or record[0] != state.global_step or not logs or "loss" not in logs:
                return
            for place, name in LOGGED:
                record[place] = record[place] if logs.get(name) is None else float(logs[name])
            record[1] = unfiltered(record[1])
            rank.release()

        @guard.guarded
        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            rank.release()
            rank.owner = None
            rank.reach("done")

    return AllranksCallback


losses: List[Any] = [None]
"""The loss of the last micro-step, as `training_step` returned it. `logging_nan_inf_filter`, which is on by default,
puts the average of the others in the place of a NaN before it is logged."""


def unfiltered(logged: Any) -> Any:
    """The last micro-step's loss if it is NaN or infinite, else the loss that was logged."""
    try:
        last = float(losses[0])
    except (TypeError, ValueError, RuntimeError):
        return logged
    return logged if isfinite(last) else last


def keeping_loss(original: Any) -> Any:
    def training_step(*args: Any, **kwargs: Any) -> Any:
        loss = losses[0] = original(*args, **kwargs)
        return loss

    return guard.dressed(training_step, original)


class Rehearsal:
    """Tries a save after the first step: a run that cannot save must fail there, not after two days.

    Only if the trainer saves into the run's output folder, where the keeper looks: in another folder the keeper would
    not verify the save, and the user did not ask for one there. `ALLRANKS_REHEARSE=0` turns it off.
    """

    def __init__(self) -> None:
        self.wanted = os.environ.get("ALLRANKS_REHEARSE", "1") != "0"

    def is_due(self, model: Any, output_dir: Any) -> bool:
        """Once, after the first step of this process; for an adapter, since a whole model takes its time."""
        due, self.wanted = self.wanted, False
        watched = os.environ.get("ALLRANKS_OUTPUT_DIR")
        if not (due and watched and output_dir and hasattr(model, "peft_config")):
            return False
        return os.path.realpath(str(output_dir)) == os.path.realpath(watched)


def evaluating(rank: Rank, original: Any) -> Any:
    return guard.around(
        original,
        lambda args, kwargs: rank.enter("evaluating"),
        lambda entered: rank.leave(entered) if entered is not None else None,
    )


def watch_saves(rank: Rank, trainer: Any) -> None:
    """A checkpoint is saved by `_save_checkpoint`, which calls `save_model`; at the end `save_model` alone."""

    def checkpoint(args: Any, kwargs: Any) -> Any:
        trainer = args[0]
        name = f"checkpoint-{trainer.state.global_step}"
        return save_events.begin(rank, os.path.join(trainer.args.output_dir, name))

    def model(args: Any, kwargs: Any) -> Any:
        folder = args[1] if len(args) > 1 else kwargs.get("output_dir")
        return save_events.begin(rank, folder or args[0].args.output_dir)

    save_events.watch(rank, trainer, "_save_checkpoint", checkpoint)
    save_events.watch(rank, trainer, "save_model", model)
