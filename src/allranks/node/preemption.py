"""Warnings that the machine goes away: a signal, SLURM's early one, or a command that asks the provider.

A warning gives the ranks time to save before they are stopped, once, and only if they said that they can.
"""

from __future__ import annotations

import signal
import subprocess
from typing import Any, List, Mapping, Optional

WARNINGS = (signal.SIGUSR1, signal.SIGUSR2)
"""The signals, besides SIGTERM, that a scheduler sends to a supervisor before it takes a node away."""

ASK_SECONDS = 5.0
"""Between two questions to the provider: AWS gives a spot instance 120 s and asks for a look every 5 s."""

ANSWER_SECONDS = 4.0


class Preemption:
    """One node's. `seconds` is what the ranks get (`save.grace`), 0 if they get no time."""

    def __init__(self, job: Mapping[str, Any]):
        self.seconds = float(job.get("notice_seconds") or 0.0)
        self.command: List[str] = [str(word) for word in job.get("notice_command") or ()]
        self.can_save = False
        self.signals = 0
        self._until: Optional[float] = None
        self._next = 0.0
        self._child: "Optional[subprocess.Popen[bytes]]" = None
        self._child_until = 0.0
        self._said = False

    def begins(self, now: float, running: bool) -> bool:
        """True once: the ranks are to be asked."""
        if self._until is not None or not (running and self.can_save and self.seconds > 0):
            return False
        self._until = now + self.seconds
        return True

    def lasts(self, now: float, running: bool) -> bool:
        """Whether to keep waiting: the ranks still run, the time is not up, and no second signal has come."""
        return self._until is not None and running and now < self._until and self.signals < 2

    def asked(self, now: float) -> Optional[str]:
        """Why the machine goes away, if the command reports that (exit code 0); asked every ASK_SECONDS."""
        if self.command and not self._said:
            self._poll(now)
        return "notice command" if self._said else None

    def _poll(self, now: float) -> None:
        if self._child is not None:
            code = self._child.poll()
            if code is None and now > self._child_until:
                self._child.kill()
            if code is None:
                return
            self._child, self._said = None, code == 0
        elif now >= self._next:
            self._next = now + ASK_SECONDS
            self._child_until = now + ANSWER_SECONDS
            nothing = subprocess.DEVNULL
            try:
                self._child = subprocess.Popen(self.command, stdin=nothing, stdout=nothing, stderr=nothing)
            except OSError:
                self._child = None  # a command that is not there says nothing
