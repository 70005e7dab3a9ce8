"""How each kind of event changes the state of a run: one handler per kind (`node_event_handlers`: those of nodes)."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from allranks.core import Event
from allranks.monitor import pause_history
from allranks.monitor.event_values import integer, listed, number
from allranks.monitor.node_event_handlers import (
    on_kernel,
    on_node,
    on_sample,
    on_supervisor,
    on_torchrun,
    on_torchrun_ended,
)
from allranks.monitor.rank_records import EXCEPTIONS_KEPT, FIRST_LOSSES, MEMORY_POINTS, RankState
from allranks.monitor.run_state import RunState

AWAY_SECONDS = 1800.0
"""So much longer than we heard it a phase may have taken: we were away. More is a clock that was set."""


def _on_start(run: RunState, event: Event) -> None:
    if event.rank is None:
        return
    data = event.data
    host = None if data.get("host") is None else str(data.get("host"))
    identity = (host, data.get("boot_id"), data.get("pid"), data.get("start_time"))
    fresh = run.ranks.get(event.rank)
    if fresh is None or fresh.identity != identity or data.get("pid") is None:
        fresh = run.ranks[event.rank] = RankState(event.rank)  # a restarted rank begins anew
        fresh.started_at = fresh.phase_at = event.at
        fresh.beat_at = fresh.moved_at = fresh.phase_heard_at = run.arrived
        fresh.phase = "importing"
    fresh.node, fresh.host = event.node, host
    fresh.identity = identity if data.get("pid") is not None else None
    gpu = data.get("gpu") or {}
    fresh.uuid, fresh.bus_id = gpu.get("uuid") or fresh.uuid, gpu.get("bus_id") or fresh.bus_id
    fresh.world_size = integer(data.get("world_size"))
    _note_clashes(run, fresh, data.get("boot_id"), data.get("pid_namespace"))


def _note_clashes(run: RunState, fresh: RankState, boot_id: Any, pids: Any) -> None:
    """Remembers who holds which GPU and which process, so that a second holder is seen in O(1). `pids` is the rank's
    PID namespace: containers of one machine count their own, and may start in one clock tick."""
    machine = boot_id or fresh.host  # two names of one machine share the boot id
    device = fresh.uuid or fresh.bus_id  # slices of one GPU share the bus id, not the UUID
    if machine and device:
        _hold(run, run.gpus, "gpu", (machine, device), fresh.rank)
    if machine and fresh.identity is not None and fresh.identity[3] is not None:
        key = (machine, fresh.host, pids, *fresh.identity[2:])
        _hold(run, run.processes, "process", key, fresh.rank)


def _hold(
    run: RunState, held: Dict[Tuple[Any, ...], int], kind: str, key: Tuple[Any, ...], rank: int
) -> None:
    other = held.get(key)
    if other is not None and other != rank and run.rank(other).alive and len(run.clashes) < 4096:
        run.clashes.append((kind, other, rank))
    held[key] = rank


def _on_settings(run: RunState, event: Event) -> None:
    if event.rank is None:
        return
    rank = run.rank(event.rank)
    rank.node = event.node or rank.node
    rank.settings = {**rank.settings, **event.data}
    if integer(event.data.get("world_size")) is not None:
        rank.world_size = integer(event.data.get("world_size"))
    if integer(event.data.get("total_steps")) is not None:
        rank.total_steps = integer(event.data.get("total_steps"))
    for name in ("trainable_digest", "data_digest"):
        digest = event.data.get(name)
        if digest is not None:
            run.digests.setdefault(name, {}).setdefault(str(digest), event.rank)


def _on_beat(run: RunState, event: Event) -> None:
    if event.rank is None:
        return
    rank, data, at, heard = run.rank(event.rank), event.data, event.at, run.arrived
    if rank.node is None:
        rank.node = event.node
    if rank.beat_at is not None and rank.phase == "training":
        run.beat_gaps.add(run.ears.silence(rank.beat_at, heard), heard)
    rank.beat_at = heard if rank.beat_at is None else max(heard, rank.beat_at)
    phase = data.get("phase")
    if phase is not None and phase != rank.phase:
        _change_phase(run, rank, str(phase), at)
    operator = data.get("operator")
    rank.operator = operator if isinstance(operator, dict) else None
    progress = (data.get("shard"), data.get("progress"))
    if progress != rank.progress and progress != (None, None):
        rank.progress = progress
        pause_history.moved(run, rank, heard)
    total = data.get("total_steps")
    if total is not None:
        rank.total_steps = integer(total) or rank.total_steps
    for key in ("rss_bytes", "gpu_bytes"):
        value = data.get(key)
        if value is not None:
            setattr(rank, key, int(value))
    if rank.rss_bytes is not None:
        _remember_memory(rank, at, rank.rss_bytes)
    for entry in listed(data.get("steps")):
        _on_step(rank, entry)
    _advance(run, rank, integer(data.get("step")), at)


def _change_phase(run: RunState, rank: RankState, phase: str, at: float) -> None:
    """Remembers how long a phase that lies between the steps took at most: the next one may take as long. By the node's
    clock or by ours, the longer one: a node's clock may be set meanwhile, and what it says may come all at once."""
    pause_history.moved(run, rank, run.arrived)
    if rank.phase in ("evaluating", "saving", "compiling") and rank.phase_at is not None:
        heard = run.arrived - (rank.phase_heard_at or run.arrived)
        took = max(heard, min(at - rank.phase_at, heard + AWAY_SECONDS))
        run.longest[rank.phase] = max(run.longest.get(rank.phase, 0.0), took)
    rank.phase, rank.phase_at, rank.phase_heard_at = phase, at, run.arrived


def _on_step(rank: RankState, entry: Any) -> None:
    """One `[step, loss, seconds, data_seconds, tokens, learning_rate, own_seconds]`; any but the first may be None."""
    values = list(entry) + [None] * 7
    loss = number(values[1])
    if loss is not None:
        rank.loss = loss
        finite = loss == loss and loss not in (float("inf"), float("-inf"))
        rank.nan_steps = 0 if finite else rank.nan_steps + 1
        if finite:
            rank.losses.append(loss)
            if len(rank.first_losses) < FIRST_LOSSES:
                rank.first_losses.append(loss)
    seconds, data_seconds, tokens, own_seconds = values[2], values[3], values[4], values[6]
    for kept, value in (
        (rank.seconds, seconds),
        (rank.data_seconds, data_seconds),
        (rank.tokens, tokens),
        (rank.own_seconds, own_seconds),
    ):
        measured = number(value)
        if measured is not None and 0 <= measured < float("inf"):
            kept.append(measured)
            if kept is rank.seconds:
                rank.steps_seen += 1
    if number(values[5]) is not None:
        rank.learning_rate = number(values[5])


def _advance(run: RunState, rank: RankState, step: Optional[int], at: float) -> None:
    if step is None or step == rank.step:
        return
    pause_history.moved(
        run, rank, run.arrived
    )  # also where it is lower: a second training counts from one again
    rank.step, rank.step_at = step, at
    if rank.first_step_at is None and step > 0:
        rank.first_step_at = at
    if step > run.step:
        run.step, run.step_at = step, at


def _remember_memory(rank: RankState, at: float, size: int) -> None:
    points = rank.memory
    if points and at - points[-1][0] < rank.memory_every:
        return
    points.append((at, size))
    if len(points) >= MEMORY_POINTS:
        del points[::2]
        rank.memory_every *= 2.0


def _on_saved(run: RunState, event: Event) -> None:
    if event.rank is not None:
        step = integer(event.data.get("step"))
        run.rank(event.rank).saved_steps.append(-1 if step is None else step)


def _on_exception(run: RunState, event: Event) -> None:
    if event.rank is None:
        return
    rank = run.rank(event.rank)
    rank.node = rank.node or event.node
    run.in_trouble(event.at)
    if len(rank.exceptions) < EXCEPTIONS_KEPT:
        data = {**event.data, "frames": _frames(event.data.get("frames"))}
        rank.exceptions.append(Event(event.at, event.kind, event.node, event.rank, data))


def _frames(value: Any) -> List[Tuple[str, Optional[int], str]]:
    """The frames that are some: (file, line, function), the last 64."""
    kept = []
    for frame in list(value)[-64:] if isinstance(value, (list, tuple)) else ():
        if isinstance(frame, (list, tuple)) and frame:
            parts = (*frame, None, None)
            kept.append((str(parts[0]), integer(parts[1]), str(parts[2] or "?")))
    return kept


def _on_end(run: RunState, event: Event) -> None:
    if event.rank is not None:
        rank = run.rank(event.rank)
        rank.node = rank.node or event.node
        rank.end_code, rank.end_at = integer(event.data.get("code")), event.at
        rank.hear_end(run.arrived)
        if rank.end_code:
            run.in_trouble(event.at)


def _on_rank_gone(run: RunState, event: Event) -> None:
    if event.rank is None:
        return
    rank = run.rank(event.rank)
    rank.node, rank.gone_at = rank.node or event.node, event.at
    rank.hear_end(run.arrived)
    rank.gone_code = integer(event.data.get("code"))
    if rank.code is None:
        run.doubt_at = run.arrived
    elif rank.end_code != 0 and rank.gone_code != 0:
        run.in_trouble(event.at)


def _on_flight(run: RunState, event: Event) -> None:
    if event.rank is not None:
        run.flights[event.rank] = {**event.data, "heard_at": run.arrived}
        run.answers += 1


def _on_evidence(run: RunState, event: Event) -> None:
    """The keeper asks: what was answered before is of another moment."""
    if event.data.get("stands"):  # what was answered in silence is the answer
        run.asked_at = run.looked_at
        return
    if event.data.get("quiet"):
        run.looked_at = event.at
    else:
        run.asked_at = event.at
    run.stacks, run.looks, run.flights = {}, {}, {}
    run.answers += 1


def _on_stack(run: RunState, event: Event) -> None:
    """A rank's own answer counts before what was seen of it from outside."""
    if event.rank is None:
        return
    frames = _frames(event.data.get("frames"))
    if frames or not run.stacks.get(event.rank, {}).get("frames"):
        run.stacks[event.rank] = {**event.data, "frames": frames}
        run.answers += 1


def _on_process(run: RunState, event: Event) -> None:
    if event.rank is not None:
        run.looks[event.rank] = dict(event.data)
        run.answers += 1


def _on_state(run: RunState, event: Event) -> None:
    run.state = str(event.data.get("state") or run.state)


def _on_phase(run: RunState, event: Event) -> None:
    run.phase = str(event.data.get("phase") or run.phase)


HANDLERS: Dict[str, Callable[[Any, Event], None]] = {
    "start": _on_start,
    "settings": _on_settings,
    "beat": _on_beat,
    "saved": _on_saved,
    "exception": _on_exception,
    "end": _on_end,
    "rank-gone": _on_rank_gone,
    "torchrun": on_torchrun,
    "torchrun-ended": on_torchrun_ended,
    "joined": on_node("joined_at"),
    "supervisor": on_supervisor,
    "lost": on_node("lost_at"),
    "lease-lost": on_node("lease_lost_at"),
    "stopping": on_node("stopping_at"),
    "swept": on_node("swept_at"),
    "sample": on_sample,
    "flight": _on_flight,
    "evidence": _on_evidence,
    "stack": _on_stack,
    "process": _on_process,
    "kernel": on_kernel,
    "state": _on_state,
    "phase": _on_phase,
}


def apply(run: RunState, event: Event, arrived: Optional[float] = None) -> None:
    """Takes one event in, `arrived` at that time by the watcher's clock (by default the event's own time); an event
    of an unknown kind only moves the clock. Never raises on an odd event: it comes from another machine."""
    run.arrived = event.at if arrived is None else arrived
    run.now = max(run.now, run.arrived)
    if run.at is None or event.at > run.at:
        run.at = event.at
    if run.started_at is None:
        run.started_at = event.at
    if event.node is not None:
        node = run.node(event.node)
        if event.kind != "lost":  # that is the keeper's word, not the node's
            run.heard(node, run.arrived)
    handler = HANDLERS.get(event.kind)
    if handler is None:
        return
    try:
        handler(run, event)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError):
        run.odd_events += 1  # half an event, or another version's: counted, never fatal
