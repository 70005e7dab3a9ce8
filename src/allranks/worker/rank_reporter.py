"""The state of this rank: phase, step, records. The hooks fill it, and the heartbeat thread reads it.

The training's thread only appends to deques and sets attributes (atomic under the GIL); only the heartbeat thread
writes files, so that a slow disk does not slow a step.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque

from allranks.worker import garbage, network_counters
from allranks.worker.rank_identity import RankIdentity

TYPE_CHECKING = False  # typing costs a start 5 ms; type checkers take this for theirs
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

    Record = List[Any]
    """The fields of `core.rank_events.Step`, in its order."""

PHASES = ("importing", "preparing", "training", "done")
"""The phases that a run moves through; `loading`, `compiling`, `evaluating` and `saving` cover them for a while."""

EVENTS_KEPT = 256
STEPS_KEPT = 2000
"""Steps between two beats that are kept: at one beat per second, a loop of 2,000 steps per second. Of a faster one the
newest are told and the others counted."""


class Rank:
    """One rank's state."""

    def __init__(self, place: RankIdentity):
        self.place = place
        self.step: Optional[int] = None
        self.total_steps: Optional[int] = None
        self.owner: Optional[str] = None
        """Who counts the steps: `trainer`, `deepspeed` or `torch`. A Trainer drives DeepSpeed, which drives an
        optimizer; only the outermost may count."""
        self.records: Deque[Record] = deque(maxlen=STEPS_KEPT)
        self.carried: Optional[Tuple[int, Optional[int]]] = None
        """A step, and the bytes that the node had received by its end."""
        self.counts_bytes = place.local_rank == 0
        """Whether the next step's end shall read the counters: once per beat, since a read takes as long as all other
        work of allranks in a step."""
        self.dropped = 0
        self.events: Deque[Tuple[float, Any]] = deque(maxlen=EVENTS_KEPT)
        """(when, one of `core.rank_events`)."""
        self.progress: Optional[Callable[[], Optional[Dict[str, Any]]]] = None
        self.doing: Optional[str] = None
        """The thing that the rank waits for, if no progress bar shows it."""
        self.operator: Optional[Dict[str, Any]] = None
        """`{name, waits}` of the operator that torch compiles now, or whose lock it waits for."""
        self.shards: Optional[Tuple[int, int]] = None
        """(read, of how many) of the model's files, while they are read."""
        self.engine: Any = None
        """A weak reference to the DeepSpeed engine, if there is one."""
        self.has_trainer = False
        self.is_prepared = False
        """Whether there is an optimizer: the next batch that is read is the first step's."""
        self.evaluation: Any = None
        """`evaluation.Evaluation`, once torch is there."""
        self.own: Any = None
        """`step_timing.StepTimer`, once torch is there."""
        self.told: Any = None
        """The `Settings` that were told before the first batch, whose digest is still to come."""
        self.first_batch: Any = None
        """`digest.FirstBatch`, once a DataLoader has given one."""
        self.garbage = garbage.PutOff()
        self.at_join: Optional[Callable[[], None]] = None
        """Called when the rank is about to join the others."""
        self.at_first_step: Optional[Callable[[], None]] = None
        """Called by the heartbeat thread when the first step has ended."""
        self.notes: List[str] = []
        """The changes that allranks made for the training, reported with the settings."""
        self.awaited: Optional[Record] = None
        self.gpu_memory: Dict[str, int] = {}
        self.batch_size: Optional[int] = None
        self.exit_code: Optional[int] = None
        self.left_out = False
        """Whether the present save was left out; the reason was reported."""
        self.wake = threading.Event()
        self.tickets: Deque[threading.Event] = deque()
        self.stopping = False
        self._base = 0
        self._over: List[str] = []
        self._mark: Optional[float] = None
        self.held: Optional[Record] = None
        """The record of the last step, until `release`."""
        self._data_seconds = 0.0
        self._tokens = 0
        self._fetched = False

    # -- who asks --

    @property
    def is_here(self) -> bool:
        """False in a process that was forked from the rank: its copy of this object must stay silent."""
        return os.getpid() == self.place.pid

    # -- phases --

    @property
    def phase(self) -> str:
        over = self._over
        return over[-1] if over else PHASES[self._base]

    def reach(self, phase: str) -> None:
        """Moves on to a phase; never back, except that after `done` a second training may begin."""
        if phase == PHASES[self._base]:  # of every step but the first
            return
        if not self.is_here:  # a forked child: the lock of `wake` may have been held when it was forked
            return
        number = PHASES.index(phase)
        if number > self._base or (phase == "training" and PHASES[self._base] == "done"):
            self._base = number
            self.garbage.end()
            self.wake.set()

    def first_step(self) -> None:
        """A loop of the script's own begins its first step; in all later ones this costs a comparison."""
        if self.step is None and not self.has_trainer:
            self.reach("training")

    def enter(self, phase: str, at_once: bool = True) -> Tuple[str, float]:
        """Begins a phase that is on top of the present one; `leave` takes what this returns. With `at_once` a beat
        reports it at once."""
        self._over.append(phase)
        self.exit_code = None
        if at_once and self.is_here:
            self.wake.set()
        return phase, time.monotonic()

    def leave(self, entered: Tuple[str, float]) -> float:
        """Ends it and returns how long it took, in seconds. That time belongs to no step."""
        phase, began = entered
        seconds = time.monotonic() - began
        for place in range(len(self._over) - 1, -1, -1):
            if self._over[place] == phase:
                del self._over[place]
                break
        if self._mark is not None and not self._over:
            now = time.monotonic()
            self._mark += max(0.0, now - max(began, self._mark))
            if self.own is not None:
                self.own.paused(began, now)
        return seconds

    def is_in(self, phase: str) -> bool:
        return phase in self._over

    @property
    def is_paused(self) -> bool:
        """Whether a phase has interrupted the steps: its time does not count for a step."""
        return bool(self._over)

    # -- steps --

    def begin(self) -> None:
        """The clock of the next step starts now."""
        self._start_clock(time.monotonic())

    def _start_clock(self, now: float) -> None:
        self._mark = now
        self._data_seconds, self._tokens, self._fetched = 0.0, 0, False
        if self.own is not None:
            self.own.begin(now)

    def fetched(self, seconds: float, tokens: int) -> None:
        """A batch came: how long the training's own thread waited for it, and its tokens."""
        if self._mark is None:  # a plain loop: its first step began with this wait
            self._start_clock(time.monotonic() - seconds)
        self._data_seconds += seconds
        self._tokens += tokens
        self._fetched = True

    def end_step(
        self, step: int, learning_rate: Optional[float] = None, loss: Optional[float] = None
    ) -> Record:
        """An optimizer step ended. The record is held until `release`: its loss may come a moment later."""
        now = time.monotonic()
        self.release()
        record: Record = [
            step,
            loss,
            None if self._mark is None else round(now - self._mark, 6),
            round(self._data_seconds, 6) if self._fetched else None,
            self._tokens if self._tokens else None,
            learning_rate,
            self._own_seconds(),
            None,
        ]
        self._start_clock(now)
        self.exit_code = None
        if self.counts_bytes:
            self.counts_bytes, self.carried = False, (step, network_counters.received(os.environ))
        first, self.step, self.held = self.step is None, step, record
        if first:
            self.wake.set()
        return record

    def _own_seconds(self) -> Optional[float]:
        seconds = None if self.own is None else self.own.end()
        return None if seconds is None else round(seconds, 6)

    def release(self, record: Optional[Record] = None) -> None:
        """Lets the held record (or this one) go to the next beat."""
        if record is None:
            record, self.held = self.held, None
        if record is not None:
            if len(self.records) == STEPS_KEPT:
                self.dropped += 1
            self.records.append(record)

    def wait_for_loss(self) -> None:
        """Takes the held record aside until its loss has come from the GPU, some steps later."""
        self.awaited, self.held = self.held, None

    def loss_came(self, loss: Optional[float]) -> None:
        record, self.awaited = self.awaited, None
        if record is not None:
            record[1] = loss
            self.release(record)

    # -- events --

    def emit(self, payload: Any) -> None:
        """Queues an event, one of `core.rank_events`, for the heartbeat thread."""
        if self.is_here:
            self.events.append((time.time(), payload))
            self.wake.set()

    def drain(self, seconds: float) -> None:
        """Waits until the queued events are written, but not longer than that: a dead disk must not hold a
        process."""
        if self.is_here:
            ticket = threading.Event()
            self.tickets.append(ticket)
            self.wake.set()
            ticket.wait(seconds)
