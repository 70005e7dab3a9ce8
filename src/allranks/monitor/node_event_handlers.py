"""How the events of a node, its supervisor and its torchrun change the state of a run."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Sequence

from allranks.core import Event
from allranks.core.node_events import (
    EventRefused,
    GpuSample,
    Kernel,
    LeaseLost,
    Sample,
    Stopping,
    SupervisorStarted,
    Swept,
    TorchrunEnded,
    TorchrunStarted,
)
from allranks.core.run_events import Joined, Lost
from allranks.monitor.clock_offsets import Lateness
from allranks.monitor.rank_records import SLOWDOWNS, NodeState
from allranks.monitor.run_state import RunState

EARLIER_SECONDS = 1.0
"""If torchrun ends ranks after a failure, they end within its next looks, 0.1 s apart."""

RUNNABLE = "R"
"""The main thread runs or waits for a core: on a crowded machine it may use far less than `BUSY_SHARE`."""

BUSY_SHARE = 0.1
"""The share of one core between two samples. A call that computes uses a whole core, or the rest that its neighbours
leave. A thread that wakes only now and then beside a frozen main thread (torch's NCCL watchdog, every 0.1 s) uses far
less."""

STOPPED = frozenset("Tt")
"""Stopped by a signal (such as SIGSTOP), stopped by a debugger."""

STANDING = STOPPED | frozenset("DZ")
"""The states of proc(5) in which the main thread does not run: stopped, traced, waiting for a disk, dead."""

FAILURES_KEPT = 1024
GPUS_KEPT = 64
SAMPLES_GAP_SECONDS = 15.0
"""If three samples are missing, the supervisor was away; perhaps it was stopped together with its ranks."""

GPUS_GAP_SECONDS = 60.0
"""If four looks at the GPUs are missing, the state of the GPUs in between is unknown."""


def _on_torchrun_ended(run: RunState, node: NodeState, event: Event, ended: TorchrunEnded) -> None:
    node.ended_at, node.ended_code = event.at, ended.code
    if node.ended_code:
        run.in_trouble(event.at)
    node.failures = ended.failures[:FAILURES_KEPT]
    for failure in node.failures:
        if failure.rank is None:
            continue
        rank = run.rank(failure.rank)
        rank.node = rank.node or node.name
        if rank.gone_code is None:
            rank.gone_code = failure.code
        if rank.gone_at is None:
            rank.gone_at = event.at
            rank.hear_end(run.arrived)
    _ended_well(run, node)


def _ended_well(run: RunState, node: NodeState) -> None:
    """Sets the code of dead ranks to 0 if their end was clean. torchrun takes a dead rank's code within 0.1 s, often
    before the supervisor sees it, and reports only failures. So a rank without a code has ended with 0 if it ended
    before any failed rank and before allranks stopped the node."""
    times = [run.ranks[f.rank].gone_at or 0.0 for f in node.failures if f.rank is not None]
    ends = times or ([node.stopping_at] if node.stopping_at is not None else [])
    if node.ended_code != 0 and not ends:
        return
    for rank in run.ranks.values():
        unknown = rank.node == node.name and rank.gone_at is not None and rank.code is None
        if unknown and (node.ended_code == 0 or (rank.gone_at or 0.0) < min(ends) - EARLIER_SECONDS):
            rank.gone_code = 0


def _on_torchrun(run: RunState, node: NodeState, event: Event, started: TorchrunStarted) -> None:
    """A torchrun starts. If one has ended before, this is a restart, and the signs of the last attempt no longer
    count."""
    if node.ended_at is None:
        return
    node.ended_at = node.ended_code = node.swept_at = node.stopping_at = None
    node.failures = ()
    run.trouble_at = run.doubt_at = run.stopping_at = run.step_at = run.last_move = None
    run.step, run.beat_gaps = -1, Lateness(run.beat_gaps.most)
    for rank in [r.rank for r in run.ranks.values() if r.node == node.name]:
        del run.ranks[rank]


CLOSED = re.compile(r"^closed$|closed the connection|reset by peer|broken pipe", re.IGNORECASE)
"""The messages of `node/wire.py` if the node's kernel ended the connection: then the kernel is alive. A reset comes
if the dead process had not read everything."""


def _on_supervisor(run: RunState, node: NodeState, event: Event, started: SupervisorStarted) -> None:
    _on_joined(run, node, event, started)
    if started.process is not None:
        node.boot_id = started.process.boot_id


def _on_joined(run: RunState, node: NodeState, event: Event, _: Any) -> None:
    node.joined_at, node.lost_at, node.lost_why = event.at, None, ""


def _on_lost(run: RunState, node: NodeState, event: Event, lost: Lost) -> None:
    node.lost_at, node.lost_why = event.at, "closed" if CLOSED.search(lost.why) else lost.why


def _on_lease_lost(run: RunState, node: NodeState, event: Event, lost: LeaseLost) -> None:
    node.lease_lost_at = event.at


def _on_stopping(run: RunState, node: NodeState, event: Event, stopping: Stopping) -> None:
    if node.stopping_at is None:  # the first stop is the one that ends ranks
        node.stopping_at = event.at
        run.stopping_at = event.at if run.stopping_at is None else run.stopping_at


def _on_swept(run: RunState, node: NodeState, event: Event, swept: Swept) -> None:
    node.swept_at = event.at


def _on_sample(run: RunState, node: NodeState, event: Event, sample: Sample) -> None:
    away = node.sample_at is None or run.arrived - node.sample_at > SAMPLES_GAP_SECONDS
    node.sample, node.sample_at = sample, run.arrived
    _look_at_ranks(run, node, away)
    if sample.gpus:
        _look_at_gpus(node, sample.gpus[:GPUS_KEPT], run.arrived)


def _look_at_ranks(run: RunState, node: NodeState, away: bool) -> None:
    """Notes which ranks are stopped, and which ones work without heartbeats."""
    for name, entry in node.sample.ranks.items():
        rank = run.ranks.get(int(name)) if name.isdecimal() and len(name) < 10 else None
        if rank is None or rank.node != node.name:
            continue
        still = rank.stopped_at is not None and rank.stopped_at > (rank.beat_at or 0.0) and not away
        stopped = entry.state in STOPPED
        rank.stopped_at = (rank.stopped_at if still else run.arrived) if stopped else None
        if entry.state == RUNNABLE:
            rank.busy_at = run.arrived
        used = entry.cpu_seconds
        if used is None:
            continue
        before, rank.cpu = rank.cpu, (run.arrived, used)
        if before is None or before[0] < (rank.beat_at or 0.0) or entry.state in STANDING:
            continue
        if used - before[1] >= BUSY_SHARE * (run.arrived - before[0]) > 0.0:
            rank.busy_at = run.arrived


def _look_at_gpus(node: NodeState, gpus: Sequence[GpuSample], at: float) -> None:
    """Notes since when each GPU is slowed down. After a gap in the looks it starts again."""
    if node.gpus_at is not None and at - node.gpus_at > GPUS_GAP_SECONDS:
        node.throttled = {}
    node.gpus, node.gpus_at = gpus, at
    for gpu in gpus:
        if SLOWDOWNS.isdisjoint(gpu.throttle):
            node.throttled.pop(gpu_name(gpu), None)
        else:
            node.throttled.setdefault(gpu_name(gpu), at)


def gpu_name(gpu: GpuSample) -> str:
    return gpu.uuid or str(gpu.index)


def _on_kernel(run: RunState, node: NodeState, event: Event, kernel: Kernel) -> None:
    """The kernel's lines, or the reason why its log cannot be read."""
    node.kernel, node.kernel_at = [line[:300] for line in kernel.lines[-20:]], event.at
    node.kernel_unread = kernel.why[:200]
    run.answers += 1


OF_NODES: Dict[type, Callable[[Any, NodeState, Event, Any], None]] = {
    TorchrunStarted: _on_torchrun,
    TorchrunEnded: _on_torchrun_ended,
    SupervisorStarted: _on_supervisor,
    Joined: _on_joined,
    Lost: _on_lost,
    LeaseLost: _on_lease_lost,
    Stopping: _on_stopping,
    Swept: _on_swept,
    Sample: _on_sample,
    Kernel: _on_kernel,
    EventRefused: lambda *_: None,
}
