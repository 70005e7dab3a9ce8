"""transformers' Trainer saves an adapter under DeepSpeed small and whole, and goes on from what it saved.

So are a checkpoint and its state without DeepSpeed, where each rank has the whole adapter (`replicas`). Everything
else, and every model without an adapter, is saved and loaded as before. What `_save` writes (also a subclass's) is
the same: adapter, tokenizer, arguments. In the place of DeepSpeed's shards, or of optimizer.pt, stand the two files
of `trainer_state`, written with the adapter and moved into place with it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from typing import Any, Dict, Optional

from allranks.worker import (
    collective,
    disk_space,
    guard,
    optimizer_state,
    preemption_notice,
    random_state,
    replicas,
    resume_choice,
    resumed_at_end,
    save_origin,
    trainer_state,
)
from allranks.worker.adapter_files import MANIFEST, sync, write_whole
from allranks.worker.adapter_names import NotRead
from allranks.worker.adapters import CannotSave, Gathered, NotExact, describe, gather, is_partitioned, unwrap

FULL, SAVED, RESUMED, COPY = "_allranks_full", "_allranks_saved", "_allranks_resumed", "_allranks_copy"
CHECKPOINT, OURS = "_allranks_checkpoint", "_allranks_ours"
"""Attributes of a trainer: it saves a whole checkpoint now; the folder that has its state; (of the engine)
what it went on from; a rank's own copy of the head's trainer_state.json; while a checkpoint is saved, whether with
its state; whether it resumes from a checkpoint that allranks made."""


def patch_trainer(module: Any) -> bool:
    """Patches `transformers.trainer`; False if that was done already."""
    trainer = module.Trainer
    if hasattr(trainer.save_model, "allranks_stock"):
        return False
    for name, make in (
        ("save_model", saving_model),
        ("_save_checkpoint", saving_checkpoint),
        ("_save_optimizer_and_scheduler", unless_saved),
        ("_save_rng_state", unless_saved),
        ("_save_scaler", unless_saved),
        ("train", training),
        ("_inner_training_loop", with_own_batch),
        ("set_initial_training_values", resumed_at_end.without_epochs),
        ("_load_from_checkpoint", loading_adapter),
        ("_load_optimizer_and_scheduler", loading_scheduler),
        ("_load_rng_state", loading_random_state),
    ):
        replace(trainer, name, make)
    replace(module, "deepspeed_load_checkpoint", loading_checkpoint)
    if hasattr(module, "TrainerState"):
        replace(module.TrainerState, "save_to_json", writing_whole)
    return True


def replace(owner: Any, name: str, make: Any) -> None:
    """Puts `make(stock)` in the place of an attribute; one that this version lacks is left out."""
    stock = getattr(owner, name, None)
    if stock is None:
        return
    ours: Any = functools.wraps(stock)(make(stock))
    ours.allranks_stock = stock
    setattr(owner, name, ours)


def applies(trainer: Any) -> bool:
    """Whether a trainer's model is an adapter under DeepSpeed, so that allranks makes its saves."""
    if not getattr(trainer, "is_deepspeed_enabled", False):
        return False
    try:
        model, engine = unwrap(trainer.model_wrapped)
    except CannotSave:
        return False
    return engine is not None and not any(c.is_prompt_learning for c in model.peft_config.values())


def kept(trainer: Any) -> Optional[Any]:
    """The engine whose whole checkpoints allranks makes, or its stand-in without DeepSpeed; the same kind on every
    rank."""
    return unwrap(trainer.model_wrapped)[1] if applies(trainer) else replicas.of(trainer)


# ---- save ----


def saving_model(stock: Any) -> Any:
    def save_model(self: Any, output_dir: Optional[str] = None, _internal_call: bool = False) -> None:
        full = getattr(self, FULL, False)
        # Without DeepSpeed one rank may save a model alone; a checkpoint is always saved by all.
        if not applies(self) and not (full and replicas.of(self)):
            stock(self, output_dir, _internal_call)
            return
        directory = self.args.output_dir if output_dir is None else output_dir
        model, engine = unwrap(self.model_wrapped)
        gathered, able = Gathered(None, 0, {}), True
        try:
            gathered = gather(model, engine, bool(self.args.should_save))
        except NotExact:  # on every rank: the library's own gathers are not better, and would not be checked
            raise
        except CannotSave:  # before any rank gathered: stock's way is still open to all
            able = False
        # Below ZeRO-3 rank 0 alone looks for what to save: the others hear from it that there is nothing.
        # The same holds for a save that is not a checkpoint, which a script may have asked of rank 0 alone.
        if not (able if is_partitioned(model) or not full else collective.agree(lambda: able)):
            stock(self, output_dir, _internal_call)
            return
        state = gathered.state
        snapshot = snapshot_of(self, kept(self)) if full else None

        told = {"settings": save_origin.settings(self.args), **gathered.proof}
        manifest = dict(describe(model, int(self.state.global_step)), **told)

        def write(folder: str) -> None:
            gathered.check_readable(model)
            self._save(folder, state_dict=state)

        try:
            if state is not None:
                write_with(snapshot, directory, write, manifest)
            else:
                put(snapshot, None)
        except Exception as error:  # on the rank that writes: the others have gone on
            skip_or_raise(self, directory, error)
            if not getattr(self, "is_deepspeed_enabled", False):  # DeepSpeed's own state is every rank's work
                setattr(self, SAVED, directory)  # the folder is gone: the optimizer has no place either
        if snapshot is not None:
            setattr(self, SAVED, directory)
        push(self, _internal_call)

    return save_model


def skip_or_raise(trainer: Any, directory: str, error: Exception) -> None:
    """A checkpoint that the disk has no room for, or whose adapter PEFT cannot read, is left out; everything else is
    raised, and a final save too."""
    full, step = getattr(trainer, CHECKPOINT, None), int(trainer.state.global_step)
    if full is not None and isinstance(error, NotRead):
        guard.guarded(disk_space.unread)(step, error)
    elif full is not None and disk_space.is_full(error, directory):
        guard.guarded(disk_space.skipped)(kept(trainer), directory, step, full, error)
    else:
        raise error


def write_with(snapshot: Any, directory: str, write: Any, manifest: Dict[str, Any]) -> None:
    """`write_whole`, with the state in it: the other ranks wait for this one's part in that, also if the folder
    could not be made."""
    begun = []

    def write_both(folder: str) -> None:
        begun.append(folder)
        put(snapshot, folder)
        write(folder)

    try:
        write_whole(directory, write_both, manifest)
    finally:
        if not begun:
            put(snapshot, None)


def put(snapshot: Optional[trainer_state.Snapshot], folder: Optional[str]) -> None:
    """Every rank's part in writing the state, into rank 0's folder. Under `save_on_each_node` a rank of each node has
    one: the others' checkpoints have no state, for no rank sends its part twice."""
    if snapshot is not None:
        trainer_state.write(snapshot, folder if optimizer_state.rank() == 0 else None)


def push(trainer: Any, internal: bool) -> None:
    """To the hub, as stock does after a save that the user's script asked for."""
    if trainer.args.push_to_hub and not internal:
        revision = getattr(trainer.args, "hub_revision", None)  # from transformers 4.53 on
        trainer.push_to_hub(commit_message="Model save", **({"revision": revision} if revision else {}))


def snapshot_of(trainer: Any, engine: Any) -> Optional[trainer_state.Snapshot]:
    """None if the state is kept in a way that is not known here: then the trainer's own files are written."""
    more: Dict[str, Any] = {}
    scaler = getattr(trainer.accelerator, "scaler", None)
    if scaler is not None:
        more["scaler"] = trainer_state.numbers(scaler.state_dict())
    scheduler = trainer.lr_scheduler
    try:
        if not has_default(unwrap(trainer.model_wrapped)[0]):
            raise optimizer_state.NotHeld(NO_DEFAULT)
        if scheduler is not None and type(scheduler).__name__ != "DeepSpeedSchedulerWrapper":
            more["scheduler"] = trainer_state.scheduler_state(scheduler)
        return trainer_state.take(engine, int(trainer.state.global_step), more)
    except optimizer_state.NotHeld as error:
        guard.note("saves the trainer's own state", error)
        return None


NO_DEFAULT = "no adapter is named default, and PEFT saves every other one in a folder of its own name"


def has_default(model: Any) -> bool:
    """Whether an adapter lies where a resume reads it: beside its state."""
    return "default" in model.peft_config


def saving_checkpoint(stock: Any) -> Any:
    def _save_checkpoint(self: Any, *args: Any, **kwargs: Any) -> Any:
        full = not self.args.save_only_model
        engine = kept(self)
        if engine is not None:
            folder, step = self._get_output_dir(trial=None), int(self.state.global_step)
            if not disk_space.has_room(engine, folder, step, full):
                return None
            setattr(self, CHECKPOINT, full)
        setattr(self, SAVED, None)
        setattr(self, FULL, full)
        try:
            return stock(self, *args, **kwargs)
        except Exception as error:
            # trainer_state.json, by a writing rank alone, and after it nothing is collective. Between DeepSpeed's own
            # shards the ranks wait for each other: there none may go on alone.
            if not self.args.should_save or (full and getattr(self, SAVED, None) is None):
                raise
            name = "checkpoint-%d" % int(self.state.global_step)
            folder = os.path.join(self._get_output_dir(trial=None), name)
            skip_or_raise(self, folder, error)
            manifest = os.path.join(folder, MANIFEST)
            if os.path.lexists(manifest) and not os.path.lexists(os.path.join(folder, "trainer_state.json")):
                # the adapter is whole, but a resume would lack the trainer's own state
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(manifest)
        finally:
            setattr(self, CHECKPOINT, None)
            setattr(self, FULL, False)
            setattr(self, SAVED, None)

    return _save_checkpoint


def unless_saved(stock: Any) -> Any:
    """What our files hold already is not written once more."""

    def save(self: Any, output_dir: Any, *args: Any, **kwargs: Any) -> Any:
        saved = getattr(self, SAVED, None)
        if saved is None or os.path.abspath(saved) != os.path.abspath(output_dir):
            return stock(self, output_dir, *args, **kwargs)

    return save


def writing_whole(stock: Any) -> Any:
    """trainer_state.json is there whole or not at all, also when the node dies while it is written."""

    def save_to_json(self: Any, json_path: str) -> None:
        if not os.path.isdir(os.path.dirname(os.path.abspath(json_path))):
            return  # the checkpoint was left out: see skip_or_raise
        new = json_path + ".tmp"
        stock(self, new)
        sync(new)
        os.replace(new, json_path)

    return save_to_json


# ---- go on ----


def training(stock: Any) -> Any:
    def train(self: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        place = place_for(self, resume_from_checkpoint)
        result = stock(self, place, *args, **kwargs)
        if resumed_at_end.has_trained(self, place):
            guard.guarded(resume_choice.finished)(str(self.args.output_dir))
        if preemption_notice.leaving():  # the checkpoint remains; a final adapter would look like the end
            raise SystemExit(0)
        return result

    return train


def with_own_batch(stock: Any) -> Any:
    """transformers 4 takes the micro batch of the run that saved, which may have had another number of ranks. Ours
    compares the samples of a step."""

    def _inner_training_loop(self: Any, batch_size: Optional[int] = None, *args: Any, **kwargs: Any) -> Any:
        setattr(self, resumed_at_end.FOLDER, kwargs.get("resume_from_checkpoint"))
        if getattr(self, OURS, False) and not self.args.auto_find_batch_size:
            batch_size = self._train_batch_size = self.args.train_batch_size
        return stock(self, batch_size, *args, **kwargs)

    return _inner_training_loop


def place_for(trainer: Any, asked: Any) -> Any:
    """What `train` shall go on from: the keeper's choice for this trainer, else what the script asked for.

    The head's disk alone need hold it: a rank that does not see the folder gets the trainer's own file.
    """
    torch = guard.loaded("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        found = on_rank_0(trainer, asked)[0]
        return None if found == resume_choice.BEGINNING else found or asked
    path, text = collective.agree(lambda: on_rank_0(trainer, asked))
    setattr(trainer, OURS, text is not None)
    if path == resume_choice.BEGINNING:
        return None
    if path is None:
        return asked
    if text is None or os.path.isfile(os.path.join(path, "trainer_state.json")):
        return path
    copy = tempfile.TemporaryDirectory(prefix="allranks-resume-")  # gone when the trainer is
    setattr(trainer, COPY, copy)
    folder = os.path.join(copy.name, os.path.basename(path))
    os.mkdir(folder)
    with open(os.path.join(folder, "trainer_state.json"), "w", encoding="utf-8") as file:
        file.write(text)
    return folder


def on_rank_0(trainer: Any, asked: Any) -> Any:
    """(the folder or BEGINNING, its trainer_state.json if allranks wrote the folder); (None, None) for whatever was
    asked for."""
    if resume_choice.begins_anew(asked):
        return resume_choice.BEGINNING, None
    path = resume_choice.chosen_for(trainer) or (asked if isinstance(asked, str) else None)
    if path is None or not trainer_state.is_ours(path):
        return path, None
    try:
        with open(os.path.join(path, "trainer_state.json"), encoding="utf-8") as file:
            return path, file.read()
    except OSError as error:
        raise collective.CannotResume("%s: %s" % (path, error)) from None


def loading_checkpoint(stock: Any) -> Any:
    """In the place of transformers' `deepspeed_load_checkpoint`."""

    def deepspeed_load_checkpoint(engine: Any, checkpoint_path: Any, *args: Any, **kwargs: Any) -> Any:
        if not collective.agree(lambda: trainer_state.is_ours(str(checkpoint_path))):
            return stock(engine, checkpoint_path, *args, **kwargs)
        setattr(engine, RESUMED, trainer_state.load(engine, str(checkpoint_path)))

    return deepspeed_load_checkpoint


def loading_adapter(stock: Any) -> Any:
    """Without DeepSpeed the Trainer reads the adapter on every rank, before it has an optimizer: ours comes later."""

    def _load_from_checkpoint(self: Any, resume_from_checkpoint: Any, model: Any = None) -> Any:
        if model is not None or not loads(self, resume_from_checkpoint):
            return stock(self, resume_from_checkpoint, model)

    return _load_from_checkpoint


def loads(trainer: Any, path: Any) -> bool:
    """Whether allranks wrote this checkpoint and loads it, without DeepSpeed. Collective if there is a process
    group."""
    return replicas.of(trainer) is not None and collective.agree(lambda: trainer_state.is_ours(str(path)))


def resumed(trainer: Any) -> Optional[Dict[str, Any]]:
    return getattr(trainer.model_wrapped, RESUMED, None)


def loading_scheduler(stock: Any) -> Any:
    def _load_optimizer_and_scheduler(self: Any, checkpoint: Any) -> Any:
        if checkpoint is not None and loads(self, checkpoint):
            setattr(self.model_wrapped, RESUMED, trainer_state.load(replicas.of(self), str(checkpoint)))
        data = resumed(self) if checkpoint is not None else None
        if data is None:
            return stock(self, checkpoint)
        more, scaler = data["more"], getattr(self.accelerator, "scaler", None)
        if more.get("scheduler") is not None:
            self.lr_scheduler.load_state_dict(more["scheduler"])
        if scaler is not None and more.get("scaler"):
            scaler.load_state_dict(more["scaler"])

    return _load_optimizer_and_scheduler


def loading_random_state(stock: Any) -> Any:
    def _load_rng_state(self: Any, checkpoint: Any) -> Any:
        data = resumed(self) if checkpoint is not None else None
        if data is None:
            return stock(self, checkpoint)
        random_state.restore(data["random"])

    return _load_rng_state
