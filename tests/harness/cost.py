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
    """CPU seconds of this process on a quiet machine: the least of some runs, one if it takes less than `enough`."""
    best = known = float("inf")
    for _ in range(RUNS):
        best = min(best, seconds(call))
        if best < enough:
            return best
        known = min(known, seconds(lambda: KNOWN.search("_" * SIZE)))
    return best * QUIET / known


def seconds(call: Callable[[], object]) -> float:
    """Of all threads, so that no work is out of sight in another one."""
    began = time.process_time()
    call()
    return time.process_time() - began
