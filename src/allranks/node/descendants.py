"""The supervisor's own processes: found, recorded, reaped. Only for the program that is their ancestor.

The supervisor is a child subreaper: every process that its ranks leave behind, however often it forked, becomes its
child. So processes below it and outside its own session belong to the run. allranks itself started the processes in
its own session (the keeper's verifying child). A process can leave a session, but never enter one.
"""

from __future__ import annotations

import os
import time
from typing import Dict, List, Set, Tuple

from allranks.core import Process
from allranks.node import processes
from allranks.node.paths import Lines
from allranks.node.processes import Stat

WHOLE_LOOK_SECONDS = 30.0


class Descendants:
    """`members` are the run's processes below this one; `look` writes down those not seen before."""

    def __init__(self, node: str, run_id: str, path: str):
        self.node, self.run_id = node, run_id
        self.boot_id = processes.boot_id()
        self._me, self._session = os.getpid(), os.getsid(0)
        self._lines = Lines(path)
        self._recorded: Set[Tuple[int, int, int]] = set()
        self._foreign: Set[int] = set()
        self._whole_at = 0.0
        me = processes.read_stat(self._me)
        if me is not None:
            self._write(me)

    def members(self) -> List[Stat]:
        """The run's processes that live now, read again, so that a signal may be sent to them."""
        return [stat for stat in self._below(processes.table()) if stat.is_alive]

    def scan(self, spared: int = 0) -> None:
        """Records the processes that are new since the last call, and reaps the dead ones that became our children.

        `spared` (torchrun) is not reaped: another part of the supervisor asks for its exit code. Nothing in our own
        session is reaped: the keeper waits for its children itself, and a status taken from under `subprocess` reads
        as success.
        """
        for stat in self._below(self._changed()):
            if stat.is_alive and (stat.pid, stat.start_time, stat.session) not in self._recorded:
                self._write(stat)
            elif not stat.is_alive and stat.ppid == self._me and stat.pid != spared:
                try:
                    os.waitpid(stat.pid, os.WNOHANG)
                except ChildProcessError:
                    pass  # it was reaped in between

    def _changed(self) -> Dict[int, Stat]:
        """The process table without those once seen to be foreign, which are read again every 30 s only.

        Reading every process of a machine with 256 cores takes 50 ms. A foreign process never becomes ours,
        but its pid may: for recording that is soon enough, for a signal everything is read again.
        """
        now = time.monotonic()
        if now >= self._whole_at:
            self._foreign, self._whole_at = set(), now + WHOLE_LOOK_SECONDS
        seen = processes.pids()
        self._foreign.intersection_update(seen)
        found = (processes.read_stat(pid) for pid in seen if pid not in self._foreign)
        table = {stat.pid: stat for stat in found if stat is not None}
        self._foreign.update(table.keys() - {stat.pid for stat in processes.descendants(self._me, table)})
        self._foreign.discard(self._me)
        return table

    def living(self) -> List[int]:
        """The pids of the recorded processes that still live; cheaper than `members`.

        Ended processes are forgotten: each epoch has new loader processes, 100,000 in a long run. Their lines stay in
        the file, and a process that could not be read only for a moment is recorded again.
        """
        now = {pid: processes.read_stat(pid) for pid in {pid for pid, _, _ in self._recorded}}
        there = {(stat.pid, stat.start_time) for stat in now.values() if stat is not None}
        self._recorded = {entry for entry in self._recorded if entry[:2] in there}
        alive = {stat.pid for stat in now.values() if stat is not None and stat.is_alive}
        return sorted({pid for pid, _, _ in self._recorded if pid in alive and pid != self._me})

    def as_process(self, stat: Stat) -> Process:
        return Process(self.node, stat.pid, stat.start_time, self.boot_id, self.run_id)

    def close(self) -> None:
        self._lines.close()

    def _below(self, table: Dict[int, Stat]) -> List[Stat]:
        return [stat for stat in processes.descendants(self._me, table) if stat.session != self._session]

    def _write(self, stat: Stat) -> None:
        """A line that a full disk refuses is written at the next look."""
        line = {"at": time.time(), "pid": stat.pid, "start_time": stat.start_time, "session": stat.session}
        line.update(ppid=stat.ppid, name=stat.name, boot_id=self.boot_id)
        line.update(processes.here())
        if self._lines.append(line):
            self._recorded.add((stat.pid, stat.start_time, stat.session))
