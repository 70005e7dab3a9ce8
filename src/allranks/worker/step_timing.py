"""How long a rank's own work of a step takes: the time before it begins to wait for the others.

Collectives make all ranks' steps equally long. Only the time before a rank enters the first one shows which rank is
late.

On a CPU, the host's clock measures this time from the end of the last step to the first collective. After a
collective, it starts again when the next batch is asked for or a forward pass begins. With a GPU, the host only
enqueues, and its waits show something else (a rank that prints its loss waits for all others there). So two CUDA
events in the same places are queried later, about once per beat, and nothing waits for them. Under ZeRO-3 and FSDP
the first collective gathers parameters before the forward pass, so that a rank's computation after it is not
measured.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from typing import Any, Optional, Tuple

from allranks.worker import gpu, guard
from allranks.worker.rank_reporter import Rank

COLLECTIVES = (
    "all_", "_all_", "broadcast", "reduce", "_reduce", "gather", "scatter", "barrier", "monitored_barrier",
)  # fmt: skip
"""How the names of torch's collectives begin. `get_rank` and similar functions pass the same place but do not
wait."""

BETWEEN_PEERS = frozenset(("send", "recv", "isend", "irecv", "send_object_list", "recv_object_list"))
"""A rank whose step begins with these is a stage of a pipeline: its wait shows its place in the pipeline, not its
speed."""


class StepTimer:
    """One rank's. All of it is called by the training's own thread.

    `since` is None if nothing is to be measured: after a step's first collective its others ask for that alone.
    """

    def __init__(self, rank: Rank) -> None:
        self.rank = rank
        self.thread = threading.main_thread().ident
        self.since: Optional[float] = None
        self.ddp: Any = None
        """A weak reference to the newest DistributedDataParallel: its collectives are begun in C++."""
        self._seconds = 0.0
        self._arrived = self._pipeline = False
        self._due = 0.0
        self._start: Any = None
        self._pair: Optional[Tuple[Any, Any]] = None
        self.in_backward = False
        """On a GPU autograd's hooks, and so their collectives, run in threads of its own."""

    @guard.guarded
    def begin(self, now: float) -> None:
        """A step begins, at `now` of time.monotonic(). On a GPU one a beat is measured."""
        self._seconds, self._arrived, self._start = 0.0, False, None
        self.since = None if self._pipeline else now
        cuda = gpu.cuda()
        if cuda is not None:
            self.since = None
            if now >= self._due and self._pair is None and not self._pipeline:
                self._due = now + self.rank.place.beat_seconds
                self._restart(cuda, now)
        elif gpu.is_elsewhere():
            self.since = None  # the host only enqueues there, too

    @guard.guarded
    def end(self) -> Optional[float]:
        """A step ends: its own seconds (with a GPU those of the last step that was measured), None if they are not
        known."""
        if self._pair is None:
            return self._seconds if self._arrived and self._start is None else None
        cuda, pair = gpu.cuda(), self._pair
        if cuda is None or cuda.is_current_stream_capturing():
            return None  # asked now, an event would spoil the graph
        self._pair = None  # also if a question fails: what fails once fails again
        start, end = pair
        if not end.query():
            self._pair = pair
            return None
        seconds = float(start.elapsed_time(end)) / 1e3
        return seconds if seconds >= 0.0 else None  # the two were in streams that do not wait for each other

    def arrive(self) -> None:
        """The rank begins to wait for others."""
        since = self.since
        if since is None or self.rank.is_paused or not self.rank.is_here:
            return
        self.since, self._arrived = None, True
        self._seconds += time.monotonic() - since
        if self._start is not None:
            end = event(gpu.cuda())
            self._pair = None if end is None else (self._start, end)

    @guard.guarded
    def works(self) -> None:
        """A batch is about to be read, or a forward pass begins. What came before was a collective between two steps (a
        log, a barrier after a save) or one of an earlier micro-batch: from here on the rank works on its own again."""
        if self._arrived and self.since is None:
            if self._start is None:
                self.since = time.monotonic()
            else:
                self._restart(gpu.cuda(), time.monotonic())

    @guard.guarded
    def paused(self, began: float, now: float) -> None:
        """From `began` to `now` it saved or evaluated: that belongs to no step."""
        if self._start is not None:  # the GPU's time has that in it
            self._start, self._pair, self.since = None, None, None
        elif self.since is not None:
            self.since += max(0.0, now - max(began, self.since))

    def is_stage(self) -> None:
        """This rank is a stage of a pipeline: it is no longer measured."""
        self._pipeline, self._arrived, self.since = True, False, None

    def _restart(self, cuda: Any, now: float) -> None:
        self._start, self._pair = event(cuda), None
        self.since = None if self._start is None else now


def event(cuda: Any) -> Any:
    """A moment of the GPU's own stream; None while a graph is captured, of which it would become a part."""
    if cuda is None or cuda.is_current_stream_capturing():
        return None
    made = cuda.Event(enable_timing=True)
    made.record()
    return made


def watch(rank: Rank, is_compiling: Any) -> StepTimer:
    """Looks at the one place that torch's collectives share, whatever calls them, and at DistributedDataParallel."""
    own = StepTimer(rank)
    inner = guard.loaded("torch.distributed.distributed_c10d")
    original = getattr(inner, "_rank_not_in_group", None)
    if original is not None:
        asked = collective(own, original, is_compiling)
        for module in (inner, guard.loaded("torch.distributed")):
            if getattr(module, "_rank_not_in_group", None) is original:
                module._rank_not_in_group = asked
    wrapper = getattr(guard.loaded("torch.nn.parallel.distributed"), "DistributedDataParallel", None)
    if wrapper is not None:
        wrapper.__init__ = guard.around(
            wrapper.__init__,
            lambda args, kwargs: args[0],
            lambda made: setattr(own, "ddp", weakref.ref(made)),
        )
        wrapper.forward = forward(own, wrapper.forward, is_compiling)
    rank.own = own
    return own


def forward(own: StepTimer, original: Any, is_compiling: Any) -> Any:
    """DistributedDataParallel's: a Trainer meets the others between the batch and the pass, to count the tokens."""

    def _forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        # dynamo takes the question for a constant, and finds nothing of allranks in a graph.
        if not is_compiling() and self.training:
            own.works()
        return original(self, *args, **kwargs)

    return guard.dressed(guard.not_compiled(_forward), original)


def collective(own: StepTimer, original: Any, is_compiling: Any) -> Any:
    """`_rank_not_in_group`, which each collective asks first."""
    get_ident = threading.get_ident

    def _rank_not_in_group(group: Any) -> Any:
        if is_compiling():  # before all else: dynamo would trace it, and look at `since` in every later call
            return original(group)
        is_outside = original(group)
        if own.since is not None and not is_outside and (own.in_backward or get_ident() == own.thread):
            asked_by(own, sys._getframe(1).f_code.co_name)
        return is_outside

    return guard.dressed(guard.not_compiled(_rank_not_in_group), original)


@guard.guarded
def asked_by(own: StepTimer, name: str) -> None:
    if name.startswith(COLLECTIVES):
        own.arrive()
    elif name in BETWEEN_PEERS:
        own.is_stage()


@guard.guarded
def backward(own: StepTimer) -> None:
    """A backward pass begins. DistributedDataParallel starts its collectives in it, but for an accumulated one."""
    module = own.ddp() if own.ddp is not None else None
    if module is not None and module.require_backward_grad_sync:
        own.arrive()
