"""Checkpoints of a plain DeepSpeed loop: one call per step saves them, and ends the loop in time after a notice.

    checkpoints = Checkpoints(engine, every=50)
    begun = checkpoints.resume()               # 0, or the step to go on after
    for step in range(begun + 1, total + 1):
        ...                                    # forward, backward, engine.step()
        if checkpoints.step(step, {"row": row}):
            break                              # a notice: all is saved, the machine goes away

Every rank calls each of them. Inside a run of allranks and under a plain torchrun alike.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, Dict, Optional

from allranks.worker import (
    collective,
    disk_space,
    guard,
    optimizer_state,
    preemption_notice,
    random_state,
    resume_choice,
    save_events,
    trainer_checkpoints,
    trainer_state,
)
from allranks.worker.adapter_names import NotRead
from allranks.worker.adapters import CannotSave, describe, gather, unwrap

CHECKPOINT = re.compile(r"checkpoint-(\d{1,12})")


class Checkpoints:
    """`directory` is the run's output folder, by default the one that allranks names; `every` counts steps.

    The first save is after this process's first step, so that a run that cannot save does not train for days. `state`
    is what the last `resume` found the loop's own state to be.
    """

    def __init__(self, engine: Any, directory: Optional[str] = None, every: Optional[int] = None):
        folder = directory or os.environ.get("ALLRANKS_OUTPUT_DIR")
        if not folder:
            raise ValueError("Checkpoints needs a directory outside a run of allranks")
        self.engine, self.directory, self.every = engine, os.path.abspath(folder), every
        self.state: Dict[str, Any] = {}
        self._first = True
        self._rank: Any = getattr(sys.modules.get("allranks.worker.activation"), "ACTIVE", None)
        self._notice: Optional[preemption_notice.Notice] = None
        if self._rank is not None:
            disk_space.TOLD[:] = [self._rank]
            self._notice = preemption_notice.Notice(self._rank)
            self._notice.watch()

    def resume(self, path: Optional[str] = None) -> int:
        """Loads `path`, else what allranks chose, else the newest whole checkpoint of the directory; its step.

        0 if there is none. Raises collective.CannotResume on every rank if a named one does not fit.
        """
        chosen = collective.agree(
            lambda: path or resume_choice.chosen_in(self.directory) or newest(self.directory)
        )
        if chosen is None:
            return 0
        data = trainer_state.load(self.engine, chosen)
        random_state.restore(data["random"])
        self.state = data["more"].get("loop") or {}
        step = int(data["step"])
        if self._notice is not None:
            self._notice.step = step
        return step

    def step(self, step: int, state: Optional[Dict[str, Any]] = None) -> bool:
        """After an optimizer step: saves where it is time, and says whether to end. `state` is JSON."""
        due = self._first or bool(self.every and step % self.every == 0)
        self._first = False
        leaving = self._notice is not None and self._notice.is_due(step)
        if due or leaving:
            self.save(step, state)
        return leaving

    def save(self, step: int, state: Optional[Dict[str, Any]] = None) -> Optional[str]:
        """The path of the checkpoint; None if the disk is too full for it (if it filled up while rank 0 wrote,
        or if PEFT cannot read the adapter, on rank 0 alone). Raises optimizer_state.NotHeld if DeepSpeed keeps
        its state in an unknown way, and adapters.CannotSave without an adapter of the name `default` or if what
        is gathered is not what the ranks hold."""
        if not disk_space.has_room(self.engine, self.directory, step, True):
            return None
        path = os.path.join(self.directory, "checkpoint-%d" % step)
        begun = None if self._rank is None else guard.guarded(save_events.begin)(self._rank, path)
        try:
            self._save(path, step, state or {})
        except Exception as error:
            # on the rank that writes, after the last collective: no other waits for it
            if isinstance(error, NotRead):
                disk_space.unread(step, error)
            elif disk_space.is_full(error, self.directory):
                disk_space.skipped(self.engine, self.directory, step, True, error)
            else:
                raise
            return None
        finally:
            if self._rank is not None:
                guard.guarded(save_events.finish)(self._rank, begun)
        return path

    def _save(self, path: str, step: int, state: Dict[str, Any]) -> None:
        model, engine = unwrap(self.engine)
        if not trainer_checkpoints.has_default(model):
            raise CannotSave(trainer_checkpoints.NO_DEFAULT)
        snapshot = trainer_state.take(self.engine, step, {"loop": state})
        gathered = gather(model, engine, optimizer_state.rank() == 0)
        adapter = gathered.state
        if adapter is None:
            return trainer_checkpoints.put(snapshot, None)

        def write(folder: str) -> None:
            gathered.check_readable(model)
            model.save_pretrained(folder, state_dict=adapter)
            with open(os.path.join(folder, "trainer_state.json"), "w", encoding="utf-8") as file:
                json.dump({"global_step": step}, file)

        manifest = dict(describe(model, step), **gathered.proof)
        trainer_checkpoints.write_with(snapshot, path, write, manifest)


def newest(directory: str) -> Optional[str]:
    """The checkpoint of the highest step whose files are those of its manifest; asked on rank 0."""
    try:
        matches = map(CHECKPOINT.fullmatch, os.listdir(directory))
    except OSError:
        return None
    for step in sorted((int(match.group(1)) for match in matches if match), reverse=True):
        path = os.path.join(directory, "checkpoint-%d" % step)
        try:
            trainer_state.checked(path)
        except (OSError, ValueError, collective.CannotResume):
            continue  # half-written, altered, or without a state: the one before it
        return path
    return None
