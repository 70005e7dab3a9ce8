"""What a call costs, compared with a known piece of work that is done in the same moment.

Neither a slow machine nor a busy one makes a call that is cheap look dear: both pieces of work take longer there.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

KNOWN = re.compile(r"(\w+)=(\S*)")
"""An expression whose time grows with the square of a line's length."""
SIZE = 2048
QUIET = 0.020
"""CPU seconds that KNOWN took for a line of SIZE characters on a quiet machine."""
RUNS = 5


def cost(call: Callable[[], object], enough: float) -> float:
    """CPU seconds of this thread on a quiet machine: the least of some runs, one if it takes less than `enough`."""
    best = float("inf")
    for _ in range(RUNS):
        took = seconds(call)
        if took < enough:
            return took
        known = sum(seconds(lambda: KNOWN.search("_" * SIZE)) for _ in range(3)) / 3
        best = min(best, took * QUIET / known)
        if best < enough:
            break
    return best


def seconds(call: Callable[[], object]) -> float:
    began = time.thread_time()
    call()
    return time.thread_time() - began
