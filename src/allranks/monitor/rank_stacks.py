"""The ranks' stacks at a stall. `core/stack_places.py` tells what a rank does in one."""

from __future__ import annotations

from typing import List

from allranks.core.rank_events import Frame
from allranks.monitor.rank_records import FRAMES_KEPT
from allranks.monitor.run_state import RunState


def frames_of(run: RunState, rank: int) -> List[Frame]:
    """The frames of a rank's main thread at this stall, outermost first."""
    stack = run.stacks.get(rank)
    return list((stack.frames or ())[-FRAMES_KEPT:]) if stack is not None else []
