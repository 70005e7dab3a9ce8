"""Does the next save fit? Asked on rank 0, heeded on all: a full disk pauses the saves, not the training.

A disk may be full though it said otherwise: another writes to it meanwhile, or a quota counts what `statvfs` does not.
"""

from __future__ import annotations

import errno
import os
import re
from typing import Any, Optional

from allranks.core.rank_events import SaveSkipped
from allranks.worker import collective, guard, optimizer_state, trainer_state
from allranks.worker.optimizer_state import NotHeld
from allranks.worker.rank_reporter import Rank

RESERVE = 1.1
"""A tenth more than planned: file systems round up and keep tables of their own (as in checkpoints/space.py)."""

BESIDE_BYTES = 1 << 20
"""adapter_config.json, manifest, the trainer's own state; a tokenizer is not counted."""

TOLD: "list[Rank]" = []
"""The rank whose journal gets the event of a skipped save; empty if no hook has added it."""


FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_TEXT = re.compile(r"\(os error (%d|%d)\)|\bcode: (%d|%d)\b" % (FULL + FULL))
"""The text of such an error in safetensors, which does not raise OSError: Rust's Display form, and the Debug form of
older releases."""


def planned(engine: Any, with_state: bool) -> int:
    """Bytes of a checkpoint: the parameters that train, and what a resume needs."""
    trained = [p for p in engine.module.parameters() if p.requires_grad]
    adapter = sum(int(getattr(p, "ds_numel", p.numel())) * p.element_size() for p in trained)
    state = 0
    if with_state:
        try:
            state = trainer_state.planned_bytes(tuple(optimizer_state.of_engine(engine)))
        except NotHeld:
            pass  # shards of DeepSpeed's own: each rank's disk holds its part, and that is not known here
    return adapter + state + BESIDE_BYTES


def free(folder: str) -> Optional[int]:
    """Free bytes for a user below `folder`, which need not be there yet; None if it cannot be read."""
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    return disk.f_bavail * disk.f_frsize


def has_room(engine: Any, folder: str, step: int, with_state: bool) -> bool:
    """Whether the disk has room for a save. If the sizes cannot be read or planned, the save is tried. Collective;
    the same answer on every rank."""

    def room() -> Any:
        wanted, there = planned(engine, with_state), free(os.path.abspath(folder))
        return [there is None or there >= wanted * RESERVE, wanted, there]

    try:
        fits, wanted, there = collective.agree(room)
    except collective.CannotResume as error:  # rank 0's trouble, told on every rank alike
        guard.note("plans the next save", error)
        return True
    if not fits and optimizer_state.rank() == 0:
        tell(SaveSkipped(step=step, planned_bytes=wanted, free_bytes=there))
    return bool(fits)


def is_full(error: Exception, folder: str) -> bool:
    """Whether a save failed only because the disk is full: then this save is left out."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in FULL
    if "PytorchStreamWriter failed" in str(error):  # torch.save's message for any failed write
        there = free(os.path.abspath(folder))
        return there is not None and there < BESIDE_BYTES
    return _FULL_TEXT.search(str(error)) is not None


def skipped(engine: Any, folder: str, step: int, with_state: bool, error: Exception) -> None:
    """Reports a save that ran out of space while it was written."""
    why = "%s: %s" % (type(error).__name__, str(error)[:300])
    wanted, there = planned(engine, with_state), free(os.path.abspath(folder))
    tell(SaveSkipped(step=step, planned_bytes=wanted, free_bytes=there, why=why))


def unread(step: int, error: Exception) -> None:
    """Reports a save that was left out because PEFT could not read the adapter's state."""
    tell(SaveSkipped(step=step, unread=True, why=str(error)[:600]))


def tell(event: SaveSkipped) -> None:
    for rank in TOLD:
        rank.left_out = True
        rank.emit(event)
