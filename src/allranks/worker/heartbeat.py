"""The heartbeat: one daemon thread that writes the rank's events, and dumps stacks when asked.

It alone touches the disk. It never touches a GPU: a call into CUDA from here could wait for the very
collective that hangs, and the beats would stop when they are needed most.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Tuple

from allranks.core import procfs
from allranks.core.events import Event
from allranks.core.payloads import Payload
from allranks.core.rank_events import Beat, Gpu, Stack, Start
from allranks.worker import failures, flight_recorder, guard, stack_dumps
from allranks.worker.rank_journal import Journal
from allranks.worker.rank_reporter import Rank

STEPS_IN_A_BEAT = 500
SHORTEST_SECONDS = 0.1
"""Between two beats, however often something changes."""

WITH_PROGRESS = ("importing", "loading", "preparing", "evaluating")
"""The phases whose length is not known; in the others the newest bar is the training's own."""

UNSENT_KEPT = 256

LOADED = (failures,)
"""Modules that a dying rank will need. They are loaded while all is well, since the rank may die because of its
disk."""


class Heartbeat:
    """Writes a rank's events and beats to its file until the rank stops."""

    def __init__(self, rank: Rank, journal: Journal):
        self.rank, self.journal = rank, journal
        self.unsent: Deque[str] = deque(maxlen=UNSENT_KEPT)
        self.stacks = stack_dumps.StackRequest(rank.place)
        self._told: Tuple[Any, ...] = ()

    def run(self) -> None:
        """The thread: returns when the rank stops."""
        rank = self.rank
        rank.events.appendleft((time.time(), started(rank)))
        due = time.monotonic()
        last = 0.0
        while True:
            stopping = rank.stopping
            tickets = [rank.tickets.popleft() for _ in range(len(rank.tickets))]
            now = time.monotonic()
            changed = (rank.phase, rank.step is None) != self._told
            self.flush()
            if now >= due or stopping or (changed and now - last >= SHORTEST_SECONDS):
                self.beat()
                last, due = now, now + rank.place.beat_seconds
                self.look_for_questions()
            for ticket in tickets:
                ticket.set()
            if stopping:
                self.journal.close()
                return
            changed = (rank.phase, rank.step is None) != self._told
            wait = min(due - now, SHORTEST_SECONDS) if changed else due - now
            if rank.wake.wait(max(0.01, wait)):
                rank.wake.clear()

    def look_for_questions(self) -> None:
        """Answers when stacks are asked for: the file for a person, the main thread's frames for the keeper."""
        if self.stacks.poll():
            self.rank.emit(Stack(frames=stack_dumps.main_thread(), by="inside"))
            flight_recorder.report(self.rank)

    def flush(self) -> bool:
        """Writes the queued events in their order; lines that cannot be written are kept for the next time."""
        events = self.rank.events
        while events:
            self.unsent.append(line(self.rank, *events.popleft()))
        while self.unsent:
            if not self.journal.write(self.unsent[0]):
                return False
            self.unsent.popleft()
        return True

    def beat(self) -> None:
        """Writes one beat. The steps in it leave memory only when they are written."""
        rank = self.rank
        if rank.step is not None and rank.at_first_step is not None:
            guard.guarded(rank.at_first_step)()
            rank.at_first_step = None
        rank.garbage.look_again()
        self._told = (rank.phase, rank.step is None)
        records = rank.records
        while len(records) > STEPS_IN_A_BEAT:
            records.popleft()
            rank.dropped += 1
        steps = [records[place] for place in range(len(records))]
        if not self.journal.write(line(rank, time.time(), beat(rank, steps, self.journal.refused))):
            return
        for _ in steps:
            records.popleft()
        rank.dropped = 0
        rank.counts_bytes = rank.place.local_rank == 0
        del guard.TROUBLE[:]


def beat(rank: Rank, steps: List[Any], refused: str = "") -> Beat:
    """The rank's present state. `refused`: why its file did not accept a line at the last try."""
    data: Dict[str, Any] = {
        "phase": rank.phase,
        "step": rank.step,
        "total_steps": rank.total_steps,
        "steps": steps,
        "rss_bytes": resident(),
    }
    if rank.carried is not None:
        data["carried"] = list(rank.carried)
    data.update(rank.gpu_memory)
    progress = progress_of(rank) if rank.phase in WITH_PROGRESS else None
    if progress:
        data["progress"] = progress
    operator = rank.operator
    if operator is not None and rank.phase == "compiling":
        data["operator"] = operator
    shards = rank.shards  # the other thread may clear it
    if shards is not None:
        data["shard"], data["shards"] = shards
    if rank.dropped:
        data["steps_dropped"] = rank.dropped
    if guard.TROUBLE:
        data["trouble"] = list(guard.TROUBLE)
    if refused:
        data["refused"] = refused
    return Beat(**data)


def progress_of(rank: Rank) -> Optional[Dict[str, Any]]:
    """`{what, done, total}` of what runs before or between the steps; None if that is unknown."""
    if rank.doing is not None:
        return {"what": rank.doing, "done": None, "total": None}
    return rank.progress() if rank.progress is not None else None


def started(rank: Rank, gpu: Optional[Gpu] = None) -> Start:
    """Which process this rank is. `gpu` is known later, and `start` is told again then."""
    place = rank.place
    return Start(
        pid=place.pid,
        start_time=place.start_time,
        boot_id=boot_id(),
        pid_namespace=procfs.pid_namespace() or None,
        host=socket.gethostname(),
        local_rank=place.local_rank,
        world_size=place.world_size,
        python=".".join(str(part) for part in sys.version_info[:3]),
        torch=torch_version(),
        gpu=gpu,
    )


def torch_version() -> Optional[str]:
    return str(getattr(guard.loaded("torch"), "__version__", "")) or None


def line(rank: Rank, at: float, payload: Payload) -> str:
    """One event as a line; one that has no JSON form becomes a line without data."""
    place, kind = rank.place, type(payload).KIND
    try:
        return Event(at, kind, place.node, place.rank, vars(payload)).as_line()
    except (TypeError, ValueError, RecursionError) as error:
        guard.note(f"event {kind}", error)
        return Event(at, kind, place.node, place.rank, {}).as_line()


def resident() -> Optional[int]:
    """This process's resident memory in bytes (second field of /proc/self/statm, in pages)."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None


def boot_id() -> Optional[str]:
    try:
        return procfs.boot_id()
    except (OSError, UnicodeDecodeError):
        return None


def live(rank: Rank) -> None:
    """The thread's body."""
    ranks = rank.place.ranks
    path = os.path.join(ranks, f"rank-{rank.place.rank}.jsonl") if ranks else os.devnull
    heart = Heartbeat(rank, Journal(path, rank.place.lines))
    while not rank.stopping or rank.tickets:
        try:
            heart.run()
            return
        except Exception as error:
            guard.note("heartbeat", error)
            time.sleep(rank.place.beat_seconds)
