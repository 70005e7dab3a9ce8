"""The checkpoint that the keeper chose to go on from, and which trainer of the script it belongs to."""

from __future__ import annotations

import json
import os
from typing import Any, List, Optional

CHOICE = "allranks-resume-from.json"
"""In the run's output folder: `{"from": path}`, the keeper's choice of a checkpoint."""

_given: List[str] = []
"""The choice, once a trainer of this process was given it."""


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


def chosen_for(trainer: Any) -> Optional[str]:
    """The keeper's choice if it is this trainer's to go on from; None for another one's.

    A script may train in stages, each with a trainer and a folder of its own (SFT, then DPO). A checkpoint of this run
    is for the trainer that saves to its folder: loaded by another one, whose parameters have the same names and
    shapes, it would train on from the wrong weights without a message. One from elsewhere, of an earlier run or named
    by the user, is for the first trainer of the process.
    """
    path = chosen()
    if path is None:
        return None
    place = os.path.dirname(os.path.realpath(path))
    if place != os.path.realpath(str(trainer.args.output_dir)):
        own = os.path.realpath(os.environ["ALLRANKS_OUTPUT_DIR"])
        if place == own or place.startswith(own + os.sep) or _given:
            return None
        _given.append(path)
    return path
