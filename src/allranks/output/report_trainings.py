"""Which training a rank's steps belong to: a restarted attempt takes steps again, and a second training in the same
script counts from one again. Only the standard library."""

from __future__ import annotations

from typing import Any, Dict

from allranks.core.untrusted import integer
from allranks.monitor.rank_records import begins_anew

EARLY = ("importing", "loading", "preparing")
"""The phases before the first step: a rank in one of them has left the training before."""


class Trainings:
    """Counts the trainings of a run. The first rows of a training say after which step it continues."""

    def __init__(self) -> None:
        self.number = 0
        self.of: Dict[int, int] = {}
        """The number of the training in which a rank was last heard."""
        self.steps: Dict[int, int] = {}
        """The step in each rank's last heartbeat."""
        self.waits = False
        """Whether no rank has reported a step of the newest training yet."""

    def restart(self) -> None:
        """Another attempt or training may follow. A rank belongs to an attempt from its `start` on, because late
        heartbeats of the attempt before may still come."""
        self.number += 1
        self.waits = True

    def start(self, rank: int) -> None:
        self.of[rank] = self.number

    def hear(self, rank: int, before: Any, phase: Any, step: Any) -> bool:
        """Takes a heartbeat: the rank's phases before it and in it, and its step. Returns whether its rows are of the
        newest training. A rank whose step is lower than before is in it, even if the heartbeat between the two
        trainings was lost."""
        now = integer(step)
        goes_back = now is not None and now < self.steps.get(rank, now)
        if now is not None:
            self.steps[rank] = now
        mine = self.of.setdefault(rank, self.number)
        anew = begins_anew(before, phase)
        if anew and mine == self.number:
            self.restart()
        if anew or goes_back or phase in EARLY:
            mine = self.of[rank] = self.number
        return mine == self.number
