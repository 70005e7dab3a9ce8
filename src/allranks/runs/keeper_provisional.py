"""A provisional diagnosis of a failure, before the keeper has heard all nodes and stopped the run.

The verdict comes seconds later, from all events and the ends of all logs. Until then the terminal, the state and the
journal show the provisional diagnosis, marked as such. It does not cause an alert.
"""

from __future__ import annotations

import signal
import time
from typing import Any, Callable, Mapping, Optional

from allranks.core import Diagnosis
from allranks.core.causes import UNPROVEN
from allranks.diagnose.catalogue import cause
from allranks.monitor import Watch
from allranks.runs.keeper_stop_request import AFTER_THE_END

LISTEN_SECONDS = 0.7
"""Time after the first sign of a failure. A dead rank's exit code comes with that sign, the others' errors within
some tenths of a second, and heartbeats once per second. The promise is to show a death within 2 s."""

AGAIN_SECONDS = 0.5
LOOK_SHARE = 0.25
"""If nothing is certain yet, it judges again, for at most a quarter of the time: with 8,000 ranks that all report an
error, one verdict takes 2.8 s (measured on one of 2 cores)."""


class FirstWord:
    """Makes at most one provisional diagnosis per attempt."""

    def __init__(self, say: Callable[[Diagnosis], None]):
        self.say = say
        self._next: Optional[float] = None
        self._said = False

    def update(self, watch: Watch, decided: bool, last: bool = False, now: Optional[float] = None) -> None:
        """Call it every turn. `decided`: a stop was requested, or a finding has stopped the run. `last`: the stop
        follows. Ranks that end quickly leave less than `LISTEN_SECONDS`, and a stop may take its grace period.

        `now` is on the monotonic clock: a change of the wall clock must not delay it.
        """
        if watch.run.trouble_at is None:
            self._next, self._said = None, False
            return
        clock = time.monotonic() if now is None else now
        if self._next is None:
            self._next = clock + LISTEN_SECONDS
        if self._said or decided or (clock < self._next and not last):
            return
        began = time.monotonic()
        found = watch.verdict(time.time())
        took = time.monotonic() - began
        self._next = clock + took + max(AGAIN_SECONDS, took / LOOK_SHARE)
        if found is not None and is_sure(found, watch.run.ranks):
            self._said = True
            self.say(found)


def is_sure(found: Diagnosis, ranks: Mapping[int, Any]) -> bool:
    """Whether the events already name the place and the cause. If a rank aborted, only its log says whether a
    watchdog ended it because it waited; an abort after the end of its Python may not be a failure."""
    if cause(found.cause).hearsay or found.confidence == UNPROVEN or found.where.node is None:
        return False
    rank = None if found.where.rank is None else ranks.get(found.where.rank)
    if rank is None:
        return True
    return rank.gone_code != -signal.SIGABRT and not (rank.end_code == 0 and rank.gone_code in AFTER_THE_END)
