"""What is known of a failure at once: said before the keeper has listened to all nodes and has stopped the run.

The verdict comes seconds later, from all events and the ends of all logs. Until then this stands, marked as
provisional, in the terminal, in the state and in the journal; the verdict takes its place, and no alert is sent of it.
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
"""After the first sign. A dead rank's exit code comes with that sign, the others' complaints within some tenths of a
second, beats once in one: what is promised is a death within 2 s."""

AGAIN_SECONDS = 0.5
LOOK_SHARE = 0.25
"""Where nothing can be said yet it looks again, for a quarter of the time at most: a verdict reads what every rank has
said of its end, 2.8 s of work for 8,000 that all complain (measured on one of 2 cores)."""


class FirstWord:
    """Of each attempt one word at most."""

    def __init__(self, say: Callable[[Diagnosis], None]):
        self.say = say
        self._next: Optional[float] = None
        self._said = False

    def look(self, watch: Watch, decided: bool, now: Optional[float] = None) -> None:
        """Called every turn. `decided`: a stop was requested, or a finding has stopped the run and said why.

        `now` is of the monotonic clock: a clock that is set must not delay it."""
        if watch.run.trouble_at is None:
            self._next, self._said = None, False
            return
        clock = time.monotonic() if now is None else now
        if self._next is None:
            self._next = clock + LISTEN_SECONDS
        if self._said or decided or clock < self._next:
            return
        began = time.monotonic()
        found = watch.verdict(time.time())
        took = time.monotonic() - began
        self._next = clock + took + max(AGAIN_SECONDS, took / LOOK_SHARE)
        if found is not None and is_sure(found, watch.run.ranks):
            self._said = True
            self.say(found)


def is_sure(found: Diagnosis, ranks: Mapping[int, Any]) -> bool:
    """Whether the events name the place and the cause already. Of an abort the rank's log says whether a watchdog
    ended it for waiting; one after the end of its Python may be none of a failure, which all ranks' ends decide."""
    if cause(found.cause).hearsay or found.confidence == UNPROVEN or found.where.node is None:
        return False
    rank = None if found.where.rank is None else ranks.get(found.where.rank)
    if rank is None:
        return True
    return rank.gone_code != -signal.SIGABRT and not (rank.end_code == 0 and rank.gone_code in AFTER_THE_END)
