"""A rank puts off Python's full garbage collections while it imports its libraries.

A full collection looks at every object that there is. The imports of a trainer make several hundred thousand of them,
all of which stay, and take about a fifth less time without those collections (`python -m benchmarks imports`). The
collections of young objects go on, so that short-lived garbage is freed as ever. The rank's own threshold counts again
as soon as it joins the others, loads a model or takes a step.

All objects of the imports are frozen then (`gc.freeze`). Later full collections, which may come in the middle of a
step, look only at younger objects; the same benchmark says how long one takes otherwise. There are several before
the first step, since the libraries ask for some themselves.
"""

from __future__ import annotations

import gc
import os
import time

TYPE_CHECKING = False  # typing costs a start 5 ms; type checkers take this for theirs
if TYPE_CHECKING:
    from typing import Optional

NEVER = 100_000
"""The threshold of full collections, in collections of the generation before: 70 million objects that stay. A script
may still multiply it."""

MOST_SECONDS = 300.0
"""A script that does nothing by which a rank is known gets its own threshold back after this time."""


class PutOff:
    """The threshold that full collections had. It is given back unless the script has set another one."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.threshold: Optional[int] = None
        self.is_over = False

    def begin(self) -> None:
        young, middle, old = gc.get_threshold()
        if gc.isenabled() and young and 0 < old < NEVER:
            self.threshold = old
            gc.set_threshold(young, middle, NEVER)
            os.register_at_fork(after_in_child=self.end)  # nobody else would give it back there

    def keep_imports(self) -> None:
        """Called when a library has been imported. The objects stay as long as the library, and nothing large is among
        them yet: neither the data nor the model."""
        if self.threshold is not None and not self.is_over:
            gc.freeze()

    def end(self) -> None:
        young, middle, now = gc.get_threshold()
        is_ours = now == NEVER or (now > NEVER and not self.is_over)  # more than that: a script multiplied it
        self.is_over = True
        if self.threshold is not None and is_ours:
            gc.set_threshold(young, middle, self.threshold)

    def look_again(self) -> None:
        """At each beat: ends it if it is late, or if a library has put back the threshold that it had found."""
        if self.is_over or time.monotonic() - self.began > MOST_SECONDS:
            self.end()
