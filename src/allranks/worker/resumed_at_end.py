"""A Trainer that resumes from its last step trains no further one.

transformers looks at the number of steps only after each of them: from a checkpoint of the last step it takes one step
more, unless that step ends an epoch. A rank that dies after the last save, and is started again, comes here.
"""

from __future__ import annotations

import json
import os
from typing import Any, Optional

FOLDER = "_allranks_from"
"""Attribute of a trainer: the checkpoint that it resumes from."""


def steps_of(folder: Any) -> Optional[int]:
    """The step of a checkpoint of the Trainer; None if its state cannot be read."""
    try:
        with open(os.path.join(folder, "trainer_state.json"), encoding="utf-8") as file:
            step = json.load(file)["global_step"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return step if isinstance(step, int) else None


def has_trained(trainer: Any, folder: Any) -> bool:
    """Whether a training took a step after the checkpoint that it continued from."""
    step, state = steps_of(folder), getattr(trainer, "state", None)
    return step is None or state is None or int(state.global_step) > step


def without_epochs(stock: Any) -> Any:
    """In the place of `set_initial_training_values`, whose answer begins with the epochs and ends with the steps
    (transformers 4.52 and 5.x)."""

    def set_initial_training_values(self: Any, *args: Any, **kwargs: Any) -> Any:
        told = stock(self, *args, **kwargs)
        step = steps_of(getattr(self, FOLDER, None))
        if step is None or not isinstance(told, tuple) or not 0 < told[-1] <= step:
            return told
        return (0, *told[1:])

    return set_initial_training_values
