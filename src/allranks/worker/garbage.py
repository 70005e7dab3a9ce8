"""A rank puts off Python's full garbage collections while it imports its libraries.

A full collection looks at every object that there is. The imports of a trainer make several hundred thousand of them,
all of which stay, and take about a fifth less time without those collections (`python -m benchmarks imports`). The
collections of young objects go on, so that short-lived garbage is freed as ever. The rank's own threshold counts again
as soon as it joins the others, loads a model or takes a step.
"""

from __future__ import annotations

import gc
import time

TYPE_CHECKING = False  # typing costs a start 5 ms; type checkers take this for theirs
if TYPE_CHECKING:
    from typing import Optional

NEVER = 1 << 30
"""The threshold of full collections, in collections of the generation before."""

MOST_SECONDS = 300.0
"""A script that does nothing by which a rank is known gets its own threshold back after this time."""


class PutOff:
    """The threshold that full collections had. It is given back once, unless the script has set another one."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self._threshold: Optional[int] = None

    def begin(self) -> None:
        young, middle, old = gc.get_threshold()
        if gc.isenabled() and young and 0 < old < NEVER:
            self._threshold = old
            gc.set_threshold(young, middle, NEVER)

    def end(self) -> None:
        old, self._threshold = self._threshold, None
        young, middle, now = gc.get_threshold()
        if old is not None and now == NEVER:
            gc.set_threshold(young, middle, old)

    def end_if_late(self) -> None:
        if self._threshold is not None and time.monotonic() - self.began > MOST_SECONDS:
            self.end()
