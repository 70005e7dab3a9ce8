"""Stops a set of processes: grace first, then force. It looks for them again until none is left.

It does not know runs or supervisors: `find` returns the processes to stop each time.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from allranks.core import Process
from allranks.node import processes
from allranks.node.processes import Stat

FORCE_SECONDS = 10.0
"""How long SIGKILL is repeated. What still lives then hangs in the kernel (state D: a dead NFS server, a GPU driver).
No signal ends it, and it is reported as left."""

STEP_SECONDS = 0.1

OWN_END = "torchrun ended"
"""The `why` of a sweep without a request: a node's torchrun came to its end."""


class Stopping:
    """Call `step` a few times a second until it returns True; then `report` tells what was done.

    SIGTERM goes to the tops alone: the processes that `find` gives and whose parent it does not give. torchrun passes
    it on to its ranks, and a rank that saves on SIGTERM still has its data loaders. A child whose parent ends becomes
    a top. After the grace time SIGKILL goes to all. During `settle_seconds` nothing is signalled, so that processes
    can end by themselves. Both times count from the signal that was sent, not from when it was due: a disk or a
    machine that paused this program takes nobody's grace time.
    """

    def __init__(
        self,
        find: Callable[[], List[Stat]],
        as_process: Callable[[Stat], Process],
        grace_seconds: float,
        settle_seconds: float = 0.0,
        send: Callable[[Process, int], bool] = processes.signal,
    ):
        self._find, self._as_process, self._send = find, as_process, send
        self._began = time.monotonic()
        self._ask_at = self._began + settle_seconds
        self._grace_seconds = grace_seconds
        self._force_at: Optional[float] = None
        self._forced_at: Optional[float] = None
        self._asked: Set[Tuple[int, int]] = set()
        self._forced: Set[Tuple[int, int]] = set()
        self.signalled: Dict[Tuple[int, int], Dict[str, Any]] = {}
        self.left: List[Stat] = []

    def step(self) -> bool:
        """One look and the signals due now; True when nothing is left, or nothing more can be done."""
        self.left = self._find()
        now = time.monotonic()  # after the look, which a disk may have held up
        if not self.left or self._is_given_up(now):
            return True
        if now < self._ask_at:
            return False
        if self._force_at is None:
            self._force_at = now + self._grace_seconds
        if now < self._force_at:
            self._terminate()
            return False
        if self._forced_at is None:
            self._forced_at = now
        for stat in self.left:
            self._forced.add((stat.pid, stat.start_time))
            self._signal(stat, signal.SIGKILL)
        return False

    def _is_given_up(self, now: float) -> bool:
        """Whether SIGKILL has had its time, on each that is left: one may have come while we were held up."""
        late = self._forced_at is not None and now > self._forced_at + FORCE_SECONDS
        return late and all((stat.pid, stat.start_time) in self._forced for stat in self.left)

    def run(self) -> Dict[str, Any]:
        """Steps until it is over, at most grace + `FORCE_SECONDS`."""
        while not self.step():
            time.sleep(STEP_SECONDS)
        return self.report()

    def hurry(self, grace_seconds: float) -> None:
        """A later wish to stop, with its own grace time: no more settling, and the shorter time counts."""
        now = time.monotonic()
        self._ask_at = min(self._ask_at, now)
        self._grace_seconds = min(self._grace_seconds, grace_seconds)
        if self._force_at is not None:
            self._force_at = min(self._force_at, now + grace_seconds)

    def report(self) -> Dict[str, Any]:
        """`signalled` and `left` as lists of `{pid, start_time, name, ...}`, and the seconds it took."""
        left = [
            {"pid": s.pid, "start_time": s.start_time, "name": s.name, "state": s.state} for s in self.left
        ]
        seconds = round(time.monotonic() - self._began, 3)
        return {"signalled": list(self.signalled.values()), "left": left, "seconds": seconds}

    def _terminate(self) -> None:
        ours = {stat.pid for stat in self.left}
        for stat in self.left:
            identity = (stat.pid, stat.start_time)
            if stat.ppid not in ours and identity not in self._asked:
                self._asked.add(identity)
                self._signal(stat, signal.SIGTERM)

    def _signal(self, stat: Stat, number: int) -> None:
        entry = {"pid": stat.pid, "start_time": stat.start_time, "name": stat.name}
        entry["signal"] = signal.Signals(number).name
        try:
            if not self._send(self._as_process(stat), number):
                return  # it ended, or the pid is another process by now
        except PermissionError:
            entry["why"] = "not permitted"
        self.signalled[(stat.pid, stat.start_time)] = entry


def end_descendants(grace_seconds: float, node: str = "") -> Dict[str, Any]:
    """Ends and reaps all that descends from this program; the report of `Stopping`. Nobody else may wait for their
    exit codes then: `subprocess` would not know them."""
    boot = processes.boot_id()

    def find() -> List[Stat]:
        processes.reap_children()
        return [stat for stat in processes.descendants(os.getpid()) if stat.is_alive]

    def as_process(stat: Stat) -> Process:
        return Process(node, stat.pid, stat.start_time, boot, run_id="")

    return Stopping(find, as_process, grace_seconds).run()
