"""The checkpoint that the keeper chose to go on from, and which trainer of the script it belongs to."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, List, Optional

CHOICE = "allranks-resume-from.json"
"""In the run's output folder: `{"from": path}`, the keeper's choice of a checkpoint."""

_given: List[str] = []
"""The choice, once a trainer of this process was given it."""

_done: List[str] = []
"""The choice, once a training that continued from it has ended: it is not for the next one of the same folder."""


def chosen() -> Optional[str]:
    """The keeper's choice, read where rank 0 runs: on the head node."""
    folder = os.environ.get("ALLRANKS_OUTPUT_DIR")
    if not folder or not os.environ.get("ALLRANKS_RUN_ID"):
        return None
    try:
        with open(os.path.join(folder, CHOICE), encoding="utf-8") as file:
            path = json.load(file).get("from")
    except FileNotFoundError:
        return None
    return path if isinstance(path, str) and path else None


BEGINNING = ""
"""In the place of a checkpoint: the training begins from the start, whatever was asked for."""


def begins_anew(asked: Any) -> bool:
    """Whether the keeper found nothing to continue from, and LLaMA-Factory would take a checkpoint of this run all the
    same: it looks for the newest one itself, damaged or not."""
    folder = os.environ.get("ALLRANKS_OUTPUT_DIR")
    if not isinstance(asked, str) or not folder or "llamafactory" not in sys.modules or chosen() is not None:
        return False
    own = os.path.realpath(folder) + os.sep
    return os.path.isfile(os.path.join(folder, CHOICE)) and os.path.realpath(asked).startswith(own)


def chosen_for(trainer: Any) -> Optional[str]:
    """The keeper's choice if it is this trainer's to go on from; None for another one's."""
    return chosen_in(str(trainer.args.output_dir))


def finished(folder: str) -> None:
    """A training that saves in this folder came to its end."""
    path = chosen_in(folder)
    if path is not None:
        _done.append(path)


def chosen_in(folder: str) -> Optional[str]:
    """The keeper's choice for a training that saves in this folder.

    A script may train in stages, each with a trainer and a folder of its own (SFT, then DPO). A checkpoint of this run
    is for the trainer that saves to its folder: loaded by another one, whose parameters have the same names and
    shapes, it would train on from the wrong weights without a message. One from elsewhere, of an earlier run or named
    by the user, is for the first trainer of the process.
    """
    path = chosen()
    if path is None or path in _done:
        return None
    place = os.path.dirname(os.path.realpath(path))
    if place != os.path.realpath(folder):
        own = os.path.realpath(os.environ["ALLRANKS_OUTPUT_DIR"])
        if place == own or place.startswith(own + os.sep) or _given:
            return None
        _given.append(path)
    return path
