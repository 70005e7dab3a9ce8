"""A node's ranks as its supervisor sees them: the lines they write or send, and the moment one is gone.

It reads files and /proc and holds pidfds; it signals nothing.
"""

from __future__ import annotations

import math
import os
import re
import time
from typing import Any, Dict, List, NamedTuple, Optional

from allranks.core import Event
from allranks.node import processes
from allranks.node.line_socket import Mailbox
from allranks.node.paths import Tail, events_of
from allranks.node.stall_evidence import Watched

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

    @property
    def handles(self) -> List[int]:
        ends = [entry.handle for entry in self._watched.values() if entry.handle is not None]
        return [*ends, *self.mailbox.handles]

    @property
    def watched(self) -> List[Watched]:
        """The ranks whose processes are followed."""
        return [Watched(entry.rank, entry.pid, entry.start_time) for entry in self._watched.values()]

    @property
    def garbage(self) -> int:
        """Lines so far that were no events."""
        return sum(tail.garbage for tail in self._tails.values())

    def read(self) -> List[Event]:
        """The events that the ranks have written since the last call."""
        events = []
        for rank in self._files():
            tail = self._tails.setdefault(rank, Tail(os.path.join(self.folder, f"rank-{rank}.jsonl")))
            for event in events_of(tail):
                # Whose file it stands in says whose it is, whatever the line claims.
                event = Event(event.at, event.kind, self.node, rank, event.data)
                events.append(event)
                if event.kind == "start":
                    self._watch(rank, event.data)
        return [*events, *self._sent()]

    def _sent(self) -> List[Event]:
        """What ranks sent because their file refused it. The kernel's word says who a sender is."""
        events = []
        for pid, event in self.mailbox.take():
            if event.rank is None or not math.isfinite(event.at):
                continue
            if event.kind == "start" and event.data.get("pid") == pid:
                self._watch(event.rank, event.data)
            if self._pids.get(event.rank) == pid:
                events.append(Event(event.at, event.kind, self.node, event.rank, event.data))
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
            data: Dict[str, Any] = {"pid": entry.pid}
            # Until torchrun asks (every 0.1 s) the dead process is a zombie, and says how it ended.
            if stat is not None and stat.start_time == entry.start_time:
                data["code"] = processes.exit_code(stat)
            events.append(Event(time.time(), "rank-gone", self.node, entry.rank, data))
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

    def _watch(self, rank: int, data: Any) -> None:
        pid, began = data.get("pid"), data.get("start_time")
        if not isinstance(pid, int) or not isinstance(began, int) or pid <= 1:
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
