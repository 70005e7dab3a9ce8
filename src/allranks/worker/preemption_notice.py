"""A notice that the machine goes away: all ranks save at the same step boundary, and end.

The request is a file beside the stacks', touched by the supervisor; a thread looks for it, since the main
thread may be in a collective for as long as a step takes. No step costs anything until it comes. Then
each rank says, through the process group's store, which step it had ended; one above the highest of these
is the first boundary that no rank has passed. Whoever comes to a boundary waits there until all have said it.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any, List, Optional

from allranks.core.rank_events import CanSave, NoticeHeard
from allranks.worker import guard, stack_dumps
from allranks.worker.rank_reporter import Rank

REQUEST = "save"
LOOK_SECONDS = 0.25
WAIT_SECONDS = 60.0
"""For the other ranks' word. Each says it within LOOK_SECONDS of hearing; a node that never hears is gone."""

CURRENT: "List[Notice]" = []
"""The one of this process, once a training that can save has begun."""


class Notice:
    """`is_due(step)` at each boundary says whether to save and end there; the same on every rank."""

    def __init__(self, rank: Rank, store: Any = None):
        self.rank, self.store = rank, store
        self.step = 0
        self.heard = False
        self.leaving = False
        self._last: Optional[int] = None
        self._thread: Optional[threading.Thread] = None
        self._lock = threading.Lock()
        self._before = stack_dumps.mark(self._path)

    def watch(self) -> None:
        """Begins to look for the request, and tells the supervisor that asking is worth its time."""
        if self.rank.place.stacks is None:
            return
        CURRENT[:] = [self]
        self.rank.emit(CanSave(step=self.step))
        if self._thread is None:  # a script may begin many trainings
            self._thread = threading.Thread(target=self._poll, name="allranks-notice", daemon=True)
            self._thread.start()

    @guard.guarded
    def _poll(self) -> None:
        while not self.heard:
            if stack_dumps.mark(self._path) not in (None, self._before):
                self.hear()
                return
            time.sleep(LOOK_SECONDS)

    @property
    def _path(self) -> str:
        return os.path.join(str(self.rank.place.stacks), REQUEST)

    def hear(self) -> None:
        """From here on this rank waits at its next boundary."""
        with self._lock:
            step, self.heard = self.step, True
        if self._others():
            self._store().set(key(self.rank.place.rank), str(step))
        self.rank.emit(NoticeHeard(step=step))

    def is_due(self, step: int) -> bool:
        with self._lock:
            self.step, heard = step, self.heard
        if not heard:
            return False
        if self._last is None:
            self._last = self._agree(step)
        self.leaving = step == self._last
        return self.leaving

    def _agree(self, step: int) -> Optional[int]:
        """The step after which all save; None if not all have spoken in time."""
        if not self._others():
            return step
        store = self._store()
        keys = [key(rank) for rank in range(self._world())]
        deadline = time.monotonic() + WAIT_SECONDS
        while not all(store.check([one]) for one in keys):
            if time.monotonic() > deadline:
                return self._decide(NEVER)
            time.sleep(0.02)
        return self._decide(max(int(store.get(one)) for one in keys) + 1)

    def _decide(self, step: int) -> int:
        """The first rank's word counts for all: one that hears late must not save, or refrain, alone."""
        decided = int(self._store().compare_set(DECIDED, "", str(step)))
        if decided == NEVER:
            guard.note("notice", TimeoutError("not all ranks heard of it: nothing is saved"))
        return decided

    def _others(self) -> bool:
        return self.store is not None or (initialized() and self._world() > 1)

    def _world(self) -> int:
        if self.store is not None:
            return int(self.rank.place.world_size or 1)
        return int(guard.loaded("torch.distributed").get_world_size())

    def _store(self) -> Any:
        """The process group's; its client takes calls of several threads."""
        if self.store is None:
            self.store = guard.loaded("torch.distributed.distributed_c10d")._get_default_store()
        return self.store


DECIDED = "allranks/notice/at"
NEVER = -1


def key(rank: int) -> str:
    return "allranks/notice/%d" % rank


def initialized() -> bool:
    distributed = guard.loaded("torch.distributed")
    return distributed is not None and distributed.is_available() and distributed.is_initialized()


def leaving() -> bool:
    """Whether this process has saved after a notice and shall end."""
    return any(notice.leaving for notice in CURRENT)
