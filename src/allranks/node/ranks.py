"""A node's ranks as its supervisor sees them: the lines they write or send, and the moment one is gone.

It reads files and /proc and holds pidfds; it signals nothing.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from typing import Dict, List, NamedTuple, Optional, Set

from allranks.core import Event, told
from allranks.core.node_events import EventRefused, RankGone
from allranks.core.rank_events import Beat, Start
from allranks.node import processes
from allranks.node.line_socket import Mailbox
from allranks.node.paths import Tail, events_of
from allranks.node.pyspy import Watched

_FILE = re.compile(r"rank-(\d+)\.jsonl")


class _Watched(NamedTuple):
    rank: int
    pid: int
    start_time: int
    handle: Optional[int]


class Ranks:
    """`handles` are pidfds that become readable when a rank ends: wait for them, then call `gone`."""

    def __init__(self, node: str, folder: str):
        self.node, self.folder = node, folder
        self.mailbox = Mailbox()
        self._pids: Dict[int, int] = {}
        self._tails: Dict[int, Tail] = {}
        self._watched: Dict[int, _Watched] = {}
        self._seen = False
        self._refused: Set[int] = set()

    @property
    def handles(self) -> List[int]:
        ends = [entry.handle for entry in self._watched.values() if entry.handle is not None]
        return [*ends, *self.mailbox.handles]

    @property
    def watched(self) -> List[Watched]:
        """The ranks whose processes are followed."""
        return [Watched(entry.rank, entry.pid, entry.start_time) for entry in self._watched.values()]

    def read(self) -> List[Event]:
        """The events that the ranks have written since the last call."""
        events = []
        for rank in self._files():
            tail = self._tails.setdefault(rank, Tail(os.path.join(self.folder, f"rank-{rank}.jsonl")))
            garbage = tail.garbage
            for event in events_of(tail):
                # The file that a line is in decides whose it is, whatever the line claims.
                events += self._of(rank, event)
                if event.kind == "start":
                    self._watch(rank, event.payload)
            if tail.garbage > garbage:
                events += self._unread(rank, tail.refused)
        return [*events, *self._sent()]

    def _of(self, rank: int, event: Event) -> List[Event]:
        """A rank's event with its node, its rank, and a time that is not in the future, since both use this machine's
        clock."""
        known = replace(event, at=min(event.at, time.time()), node=self.node, rank=rank)
        return [known, *(self._refuse(rank, f"{event.kind}: {event.odd[0]}") if event.odd else ())]

    def _unread(self, rank: int, why: str) -> List[Event]:
        """A line that cannot be read is still a sign of life: a healthy rank must not seem silent because of it."""
        return [told(Beat(), self.node, rank), *(self._refuse(rank, why) if why else ())]

    def _refuse(self, rank: int, why: str) -> List[Event]:
        if rank in self._refused:
            return []
        self._refused.add(rank)
        return [told(EventRefused(why=why), self.node, rank)]

    def _sent(self) -> List[Event]:
        """The events that ranks sent because their file refused them. The kernel identifies the sender."""
        events = []
        for pid, event, why in self.mailbox.take():
            if event is None:
                events += [
                    e for rank, known in self._pids.items() if known == pid for e in self._unread(rank, why)
                ]
            if event is None or event.rank is None:
                continue
            if event.kind == "start" and event.payload.pid == pid:
                self._watch(event.rank, event.payload)
            if self._pids.get(event.rank) == pid:
                events += self._of(event.rank, event)
        return events

    @property
    def all_gone(self) -> bool:
        """Whether ranks were seen, and none of them lives."""
        return self._seen and not self._watched

    def gone(self) -> List[Event]:
        """A `rank-gone` for each rank whose process has ended since the last call."""
        events = []
        for entry in list(self._watched.values()):
            stat = processes.read_stat(entry.pid)
            if stat is not None and stat.start_time == entry.start_time and stat.is_alive:
                continue
            # Until torchrun asks (every 0.1 s) the dead process is a zombie, and says how it ended.
            is_zombie = stat is not None and stat.start_time == entry.start_time
            known = {"code": processes.exit_code(stat)} if stat is not None and is_zombie else {}
            gone = RankGone(pid=entry.pid, **known)
            events.append(told(gone, self.node, entry.rank))
            self._forget(entry.rank)
        return events

    def close(self) -> None:
        for rank in list(self._watched):
            self._forget(rank)
        self.mailbox.close()

    def _files(self) -> List[int]:
        try:
            names = os.listdir(self.folder)
        except OSError:
            return []
        return sorted(int(match.group(1)) for match in map(_FILE.fullmatch, names) if match)

    def _watch(self, rank: int, start: Start) -> None:
        pid, began = start.pid, start.start_time
        if pid is None or began is None or pid <= 1:
            return
        self._forget(rank)
        try:
            handle = processes.open_pidfd(pid)
        except (ProcessLookupError, OSError):
            handle = None  # gone already: the next `gone` says so
        self._watched[rank] = _Watched(rank, pid, began, handle)
        self._pids[rank] = pid
        self._seen = True

    def _forget(self, rank: int) -> None:
        entry = self._watched.pop(rank, None)
        if entry is not None and entry.handle is not None:
            os.close(entry.handle)
