"""Saves besides torch.save: torch's distributed checkpoints, Lightning's, and files that safetensors writes."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Optional, Set

from allranks.core.rank_events import Saved, Saving
from allranks.worker import guard, save_events
from allranks.worker.rank_reporter import Rank


def on_distributed(rank: Rank, module: Any) -> None:
    """torch.distributed.checkpoint.state_dict_saver (torch 2.2 and later)."""
    # Paths of saves in the background: those call `save` again, in a thread.
    later: Set[Optional[str]] = set()

    def before(args: Any, kwargs: Any) -> Any:
        path = folder_of(args, kwargs)
        return None if path is not None and path in later else save_events.begin(rank, path)

    save_events.watch(rank, module, "save", before)
    if hasattr(module, "async_save"):
        module.async_save = in_background(rank, module.async_save, later)


def in_background(rank: Rank, original: Callable[..., Any], later: Set[Optional[str]]) -> Callable[..., Any]:
    """`async_save`: its save continues in another thread or process, and is reported when it has ended well."""
    watch = guard.guarded(watch_future)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        path = guard.guarded(folder_of)(args, kwargs)
        later.add(path)
        try:
            answer = original(*args, **kwargs)
        except BaseException:
            later.discard(path)
            raise
        watch(rank, path, answer, later)
        return answer

    return guard.dressed(wrapped, original)


def folder_of(args: Any, kwargs: Any) -> Optional[str]:
    """Where `save(state_dict, *, checkpoint_id, storage_writer)` writes; None if only its writer knows."""
    for given in (kwargs.get("checkpoint_id"), getattr(kwargs.get("storage_writer"), "path", None)):
        if isinstance(given, (str, os.PathLike)):
            return os.fspath(given)
    return None


def watch_future(rank: Rank, path: Optional[str], answer: Any, later: Set[Optional[str]]) -> None:
    future = getattr(answer, "upload_completion", answer)
    begun, step = time.monotonic(), rank.step
    if path is None or not hasattr(future, "add_done_callback") or not rank.is_here:
        later.discard(
            path
        )  # it would not be done later, and the next save to that path would not be reported
        return
    where = os.path.abspath(path)[:2000]
    rank.emit(Saving(step=step, path=where))

    def ended(done: Any) -> None:
        later.discard(path)
        if not done.cancelled() and done.exception() is None:
            rank.emit(Saved(step=step, path=where, seconds=round(time.monotonic() - begun, 3)))

    future.add_done_callback(guard.guarded(ended))


def on_lightning(rank: Rank, module: Any) -> None:
    """lightning.fabric.utilities.cloud_io: Fabric and Trainer save to memory and write that, so torch.save hears no
    path."""

    def before(args: Any, kwargs: Any) -> Any:
        return save_events.begin(rank, args[1] if len(args) > 1 else kwargs.get("filepath"))

    save_events.watch(rank, module, "_atomic_save", before)


def on_accelerate(rank: Rank, module: Any) -> None:
    """accelerate.accelerator: `save_state` writes a folder, and every rank a file of it; it is reported as one
    save."""

    def before(args: Any, kwargs: Any) -> Any:
        accelerator = args[0]
        path = args[1] if len(args) > 1 else kwargs.get("output_dir")
        if accelerator.project_configuration.automatic_checkpoint_naming:
            name = f"checkpoint_{accelerator.save_iteration}"
            path = os.path.join(accelerator.project_dir, "checkpoints", name)
        return save_events.begin(rank, path)

    save_events.watch(rank, module.Accelerator, "save_state", before)


def on_safetensors(rank: Rank, module: Any) -> None:
    """safetensors.torch: `save_file(tensors, filename)` and `save_model(model, filename)` in a user's own loop."""
    before = save_events.of_loop(
        rank, lambda args, kwargs: args[1] if len(args) > 1 else kwargs.get("filename")
    )
    for name in ("save_file", "save_model"):
        save_events.watch(rank, module, name, before)
