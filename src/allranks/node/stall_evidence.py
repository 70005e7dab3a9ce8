"""The state of a node's ranks at a stall, as seen from outside, before anything is killed.

For each rank's process: its state and its place in the kernel, its children, its sockets; the kernel's last words;
and the stack of a rank that does not answer by itself (`outside_stack`). Reads /proc, signals nothing. Only processes
that descend from the supervisor are looked at.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from typing import Callable, Deque, List, Optional

from allranks.core import Event, told
from allranks.core.node_events import Child, Kernel, ProcessSeen, Socket
from allranks.core.payloads import Payload
from allranks.node import processes
from allranks.node.kernel_ring import KernelRing
from allranks.node.memory import Groups
from allranks.node.outside_stack import Watched, outside_stacks
from allranks.node.processes import Stat

ANSWER_SECONDS = 2.5
"""How long a rank may take to dump its stack itself: it looks once a second, after its beat."""

CHILDREN = 16
SOCKETS = 16
KERNEL_SECONDS = 900.0
"""At a stall, the kernel's lines since the run began here are reported, but none that are older than this."""

DEATH_SECONDS = 10.0
"""Kernel lines from longer before a rank's end were about something else."""

HARMLESS = (0, -signal.SIGTERM)
"""The exit codes of a rank that the kernel did not end: it ended by itself, or was stopped with the others. After an
Xid NCCL's watchdog aborts (-6), and Python ends with 1 for CUDA's error."""

TCP_STATES = {"01": "ESTABLISHED", "02": "SYN_SENT", "03": "SYN_RECV", "04": "FIN_WAIT1", "08": "CLOSE_WAIT"}
"""The states of include/net/tcp_states.h that tell of a connection in use, or of one that is not coming."""


class Evidence:
    """Collects in its own thread, since the things that it looks at may hang. `take` gives the events that have
    come."""

    def __init__(
        self, node: str, python: str, stack_file: Callable[[int], str], groups: Optional[Groups] = None
    ):
        """`python` is the ranks' interpreter (py-spy is looked for beside it), `stack_file(rank)` their dumps;
        `groups` knows how often the kernel has killed in the ranks' control groups."""
        self.node, self.python, self.stack_file = node, str(python), stack_file
        self.groups = groups
        self.kernel = KernelRing()
        self._events: Deque[Event] = deque(maxlen=4096)
        self._thread: Optional[threading.Thread] = None
        self._asked, self._lock = 0, threading.Lock()

    def request(self, watched: List[Watched], ours: List[Stat]) -> None:
        """`ours` are the run's processes, read now: a rank that is not among them is not looked at."""
        if self._thread is not None and self._thread.is_alive():
            return
        known = {(stat.pid, stat.start_time) for stat in ours}
        kept = [one for one in watched if (one.pid, one.start_time) in known]
        self._thread = threading.Thread(target=self._collect, args=(kept, ours), daemon=True)
        self._thread.start()

    def heed(self, event: Event) -> None:
        """Asks the kernel about a rank's death: the machine may have been out of memory, or a GPU may have failed."""
        if event.kind == "rank-gone" and event.payload.code not in HARMLESS:
            self.ask_kernel()

    def ask_kernel(self) -> None:
        """Reports the kernel's lines of the last seconds. If ranks die together, it does so once, after the last of
        them."""
        with self._lock:
            self._asked += 1
            if self._asked == 1:
                threading.Thread(target=self._tell_deaths, daemon=True).start()

    def _tell_deaths(self) -> None:
        try:
            while True:
                told = self._asked
                self._tell_kernel(DEATH_SECONDS)
                with self._lock:
                    if told == self._asked:
                        self._asked = 0
                        return
        except BaseException:
            self._asked = 0  # the next death is asked of again
            raise

    def take(self) -> List[Event]:
        return [self._events.popleft() for _ in range(len(self._events))]

    def _tell_kernel(self, seconds: float) -> None:
        lines, why = self.kernel.recent(seconds)
        lines += self.groups.kills(seconds) if self.groups is not None else []
        if lines or why:
            self._tell(Kernel(lines=lines, why=why or ""))

    def _collect(self, watched: List[Watched], ours: List[Stat]) -> None:
        asked = time.time()
        for one in watched:
            self._tell(of_process(one.pid, ours), one.rank)
        self._tell_kernel(KERNEL_SECONDS)
        time.sleep(ANSWER_SECONDS)
        silent = [one for one in watched if not _answered(self.stack_file(one.rank), asked)]
        for rank, stack in outside_stacks(self.python, silent):
            self._tell(stack, rank)

    def _tell(self, payload: Payload, rank: Optional[int] = None) -> None:
        self._events.append(told(payload, self.node, rank))


def _answered(path: str, asked: float) -> bool:
    try:
        return os.lstat(path).st_mtime >= asked - 1.0
    except OSError:
        return False


# ---- /proc ----


def of_process(pid: int, ours: List[Stat]) -> ProcessSeen:
    """An unreadable part is null."""
    stat = processes.read_stat(pid)
    below = processes.descendants(pid, {s.pid: s for s in ours})
    return ProcessSeen(
        pid=pid,
        state=stat.state if stat is not None else None,
        wchan=wchan(pid),
        children=[Child(pid=s.pid, name=s.name, state=s.state, wchan=wchan(s.pid)) for s in below[:CHILDREN]],
        sockets=sockets(pid),
    )


def wchan(pid: int) -> Optional[str]:
    """The kernel function in which the process waits; null where the kernel does not say."""
    try:
        with open(f"/proc/{pid}/wchan", encoding="ascii", errors="replace") as file:
            name = file.read(100).strip()
    except OSError:
        return None
    return name if name not in ("", "0") else None


def sockets(pid: int) -> Optional[List[Socket]]:
    """The process's TCP connections: with unsent or unread bytes first. Null where they may not be read."""
    opened = processes.open_files(pid)
    if opened is None:
        return None
    mine = {path for _, path in opened}
    found = []
    for family in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{pid}/net/{family}", encoding="ascii") as file:
                rows = [line.split() for line in file.readlines()[1:]]
        except OSError:
            continue
        for row in rows:
            if len(row) > 9 and f"socket:[{row[9]}]" in mine and row[3] in TCP_STATES:
                found.append(_socket(row))
    found.sort(key=lambda one: -(one.unsent_bytes + one.unread_bytes))
    return found[:SOCKETS]


def _socket(row: List[str]) -> Socket:
    """A row of /proc/net/tcp: local and remote address, state, the two queues, how often the oldest unanswered
    bytes were sent again (proc(5))."""
    unsent, _, unread = row[4].partition(":")
    return Socket(
        local=_address(row[1]),
        remote=_address(row[2]),
        state=TCP_STATES[row[3]],
        unsent_bytes=int(unsent, 16),
        unread_bytes=int(unread, 16),
        resent=int(row[6], 16),
    )


def _address(text: str) -> str:
    """`0100007F:1F90` as `127.0.0.1:8080`; the kernel writes each 32-bit word in the host's (little) order."""
    address, _, port = text.partition(":")
    words = [bytes.fromhex(address[n : n + 8])[::-1] for n in range(0, len(address), 8)]
    if len(words) == 4 and words[:3] == [bytes(4), bytes(4), b"\0\0\xff\xff"]:
        words = words[3:]
    if len(words) == 1:
        return ".".join(str(byte) for byte in words[0]) + f":{int(port, 16)}"
    return "[" + ":".join(b"".join(words).hex()[n : n + 4] for n in range(0, 32, 4)) + f"]:{int(port, 16)}"
