"""Stands on the PYTHONPATH of a trial's ranks: counts optimizer steps and, at one of them, makes a fault.

PLANT is `count`, `raise:RANK:STEP` or `kill:RANK:STEP`; PLANT_DIR is where each rank leaves its number of steps. The
script itself is not changed: torch tells its optimizers' steps to a hook.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys

WHAT, _, REST = os.environ.get("PLANT", "").partition(":")
RANK, _, STEP = REST.partition(":")
WATCHED = "torch.optim.optimizer"
steps = 0


def after_step(*_: object) -> None:
    global steps
    steps += 1
    if os.environ.get("RANK") == RANK and str(steps) == STEP:
        if WHAT == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError(f"planted in rank {RANK} after step {STEP}")


def leave_number() -> None:
    with open(f"{os.environ['PLANT_DIR']}/steps-{os.environ['RANK']}", "w") as file:
        file.write(str(steps))


class Finder:
    """Finds nothing itself: lets the others find torch's optimizers, and registers the hook once they are there."""

    def find_spec(self, name, path=None, target=None):
        if name != WATCHED:
            return None
        sys.meta_path.remove(self)
        found = (finder.find_spec(name, path, target) for finder in list(sys.meta_path))
        spec = next((one for one in found if one is not None), None)
        if spec is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                module.register_optimizer_step_post_hook(after_step)

            spec.loader.exec_module = exec_module
        return spec


if WHAT and "RANK" in os.environ and "LOCAL_RANK" in os.environ:
    sys.meta_path.insert(0, Finder())
    atexit.register(leave_number)
