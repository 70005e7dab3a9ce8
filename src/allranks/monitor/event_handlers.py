"""How each kind of event changes the state of a run: one handler per kind. Those of nodes are in
`node_event_handlers`."""

from __future__ import annotations

from itertools import islice
from math import isfinite
from typing import Any, Callable, Dict, Optional, Tuple

from allranks.core import Event
from allranks.core.node_events import EventRefused, ProcessSeen, RankGone
from allranks.core.payloads import Refused
from allranks.core.rank_events import Beat, End, Flight, Raised, Saved, Settings, Stack, Start, Step
from allranks.core.run_events import Evidence, Phase, State
from allranks.monitor import base_reading, pause_history
from allranks.monitor.node_event_handlers import OF_NODES
from allranks.monitor.rank_records import (
    EXCEPTIONS_KEPT,
    FIRST_LOSSES,
    MEMORY_POINTS,
    RankState,
    begins_anew,
)
from allranks.monitor.run_state import RunState

AWAY_SECONDS = 1800.0
"""A phase may have taken up to so much longer than the watcher saw, because the watcher was away. A larger difference
means that a clock was set."""

SAMPLED_RANKS = 16


def _on_start(run: RunState, event: Event, start: Start) -> None:
    number = _number(event)
    identity = (start.host, start.boot_id, start.pid, start.start_time)
    fresh = run.ranks.get(number)
    if fresh is None or fresh.identity != identity or start.pid is None:
        fresh = run.ranks[number] = RankState(number)  # a restarted rank
        fresh.started_at = fresh.phase_at = event.at
        fresh.beat_at = fresh.moved_at = fresh.phase_heard_at = run.arrived
        fresh.phase = "importing"
    fresh.node, fresh.host = event.node, start.host
    fresh.identity = identity if start.pid is not None else None
    if start.gpu is not None:
        fresh.uuid, fresh.bus_id = start.gpu.uuid or fresh.uuid, start.gpu.bus_id or fresh.bus_id
    fresh.world_size = start.world_size
    _note_clashes(run, fresh, start.boot_id, start.pid_namespace)


def _note_clashes(run: RunState, fresh: RankState, boot_id: Any, pids: Any) -> None:
    """Remembers which rank holds which GPU and process, so that a second holder is found in O(1). `pids` is the
    rank's PID namespace: two containers of a machine may have the same pid and start time (in clock ticks)."""
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


def _on_settings(run: RunState, event: Event, settings: Settings) -> None:
    rank = run.rank(_number(event))
    rank.node = event.node or rank.node
    rank.settings = Settings(**{**vars(rank.settings), **vars(settings)})
    if settings.world_size is not None:
        rank.world_size = settings.world_size
    if settings.total_steps is not None:
        rank.total_steps = settings.total_steps
    for name in ("trainable_digest", "data_digest"):
        digest = getattr(settings, name)
        if digest is not None:
            run.digests.setdefault(name, {}).setdefault(digest, rank.rank)


def _on_beat(run: RunState, event: Event, beat: Beat) -> None:
    rank, at, heard = run.rank(_number(event)), event.at, run.arrived
    if rank.node is None:
        rank.node = event.node
    if rank.beat_at is not None and rank.phase == "training":
        run.beat_gaps.add(run.ears.silence(rank.beat_at, heard), heard)
    rank.beat_at = heard if rank.beat_at is None else max(heard, rank.beat_at)
    if beat.phase is not None and beat.phase != rank.phase:
        _change_phase(run, rank, beat.phase, at)
    rank.operator = beat.operator
    progress = (beat.shard, beat.progress)
    rank.base = base_reading.note(rank.base, beat.progress, at, heard)
    rank.unread = not beat.has("phase", "step")  # a wrong field was left out, so the rank may be moving
    unknown = rank.unread and not _others_tell(run, rank)
    if unknown or (progress != rank.progress and progress != (None, None)):
        rank.progress = progress
        pause_history.moved(run, rank, heard)
    rank.total_steps = beat.total_steps or rank.total_steps
    if beat.gpu_bytes is not None:
        rank.gpu_bytes = beat.gpu_bytes
    if beat.rss_bytes is not None:
        rank.rss_bytes = beat.rss_bytes
        _remember_memory(rank, at, beat.rss_bytes)
    for step in beat.steps:
        _on_step(rank, step)
    _advance(run, rank, beat.step, at)


def _others_tell(run: RunState, rank: RankState) -> bool:
    """Whether the steps of another living rank can be read. That rank cannot take a step without this one, so its
    steps also show a stall of this one. Checks only the first ranks, because this runs at each such heartbeat."""
    others = islice(run.ranks.values(), SAMPLED_RANKS)
    return any(r is not rank and r.alive and not r.unread and r.phase != "done" for r in others)


def _change_phase(run: RunState, rank: RankState, phase: str, at: float) -> None:
    """Remembers the longest time of a phase between steps, because the next one may take as long. Uses the node's
    clock or the watcher's, whichever gives more: a node's clock may be set, and its events may come all at once."""
    pause_history.moved(run, rank, run.arrived)
    if rank.phase in ("evaluating", "saving", "compiling") and rank.phase_at is not None:
        heard = run.arrived - (rank.phase_heard_at or run.arrived)
        took = max(heard, min(at - rank.phase_at, heard + AWAY_SECONDS))
        run.longest[rank.phase] = max(run.longest.get(rank.phase, 0.0), took)
    if begins_anew(rank.phase, phase):
        rank.begin_anew()
    rank.prepared = rank.prepared or phase in ("preparing", "training", "evaluating")
    rank.phase, rank.phase_at, rank.phase_heard_at = phase, at, run.arrived


def _on_step(rank: RankState, step: Step) -> None:
    if step.loss is not None:
        finite = isfinite(step.loss)
        rank.nan_since = None if finite else step.step if rank.nan_steps == 0 else rank.nan_since
        rank.loss, rank.nan_steps = step.loss, 0 if finite else rank.nan_steps + 1
        if finite:
            rank.losses.append(step.loss)
            if len(rank.first_losses) < FIRST_LOSSES:
                rank.first_losses.append(step.loss)
    for kept, value in (
        (rank.seconds, step.seconds),
        (rank.data_seconds, step.data_seconds),
        (rank.tokens, step.tokens),
        (rank.own_seconds, step.own_seconds),
    ):
        if value is not None and value >= 0:
            kept.append(value)
            rank.steps_seen += kept is rank.seconds
    if step.learning_rate is not None:
        rank.learning_rate = step.learning_rate
    if step.gradient_norm is not None:
        rank.gradient_norm = step.gradient_norm


def _advance(run: RunState, rank: RankState, step: Optional[int], at: float) -> None:
    if step is None or step == rank.step:
        return
    # A lower step counts as a move, too: a second training counts from one again.
    pause_history.moved(run, rank, run.arrived)
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


def _on_saved(run: RunState, event: Event, saved: Saved) -> None:
    run.rank(_number(event)).saved_steps.append(-1 if saved.step is None else saved.step)


def _on_exception(run: RunState, event: Event, _: Raised) -> None:
    rank = run.rank(_number(event))
    rank.node = rank.node or event.node
    run.in_trouble(event.at)
    if len(rank.exceptions) < EXCEPTIONS_KEPT:
        rank.exceptions.append(event)


def _on_end(run: RunState, event: Event, end: End) -> None:
    rank = run.rank(_number(event))
    rank.node = rank.node or event.node
    rank.end_code, rank.end_at = end.code, event.at
    rank.hear_end(run.arrived)
    if rank.end_code:
        run.in_trouble(event.at)


def _on_rank_gone(run: RunState, event: Event, gone: RankGone) -> None:
    rank = run.rank(_number(event))
    rank.node, rank.gone_at = rank.node or event.node, event.at
    rank.hear_end(run.arrived)
    rank.gone_code = gone.code
    if rank.code is None:
        run.doubt_at = run.arrived
    elif rank.end_code != 0 and rank.gone_code != 0:
        run.in_trouble(event.at)


def _on_flight(run: RunState, event: Event, flight: Flight) -> None:
    run.flights[_number(event)] = flight
    run.flights_at[_number(event)] = run.arrived
    run.answers += 1


def _on_evidence(run: RunState, event: Event, evidence: Evidence) -> None:
    """The keeper has asked all ranks: earlier answers are out of date."""
    if evidence.stands:  # the answers to the quiet question count
        run.asked_at = run.looked_at
        return
    if evidence.quiet:
        run.looked_at = event.at
    else:
        run.asked_at = event.at
    run.stacks, run.looks, run.flights, run.flights_at = {}, {}, {}, {}
    run.answers += 1


def _on_stack(run: RunState, event: Event, stack: Stack) -> None:
    """A rank's own answer counts more than its stack as seen from outside."""
    known = run.stacks.get(_number(event))
    if stack.frames or known is None or not known.frames:
        run.stacks[_number(event)] = stack
        run.answers += 1


def _on_process(run: RunState, event: Event, process: ProcessSeen) -> None:
    run.looks[_number(event)] = process
    run.answers += 1


def _on_state(run: RunState, event: Event, state: State) -> None:
    run.state = state.state or run.state


def _on_phase(run: RunState, event: Event, phase: Phase) -> None:
    run.phase = phase.phase or run.phase


def _number(event: Event) -> int:
    """The rank of an event that `OF_RANKS` handles."""
    assert event.rank is not None
    return event.rank


OF_RANKS: Dict[type, Callable[[Any, Event, Any], None]] = {
    Start: _on_start,
    Settings: _on_settings,
    Beat: _on_beat,
    Saved: _on_saved,
    Raised: _on_exception,
    End: _on_end,
    RankGone: _on_rank_gone,
    Flight: _on_flight,
    Stack: _on_stack,
    ProcessSeen: _on_process,
    EventRefused: lambda *_: None,
}
OF_THE_RUN: Dict[type, Callable[[Any, Event, Any], None]] = {
    Evidence: _on_evidence,
    State: _on_state,
    Phase: _on_phase,
}


def apply(run: RunState, event: Event, arrived: Optional[float] = None) -> bool:
    """Applies one event. `arrived` is by the watcher's clock (by default the event's own time). Returns False if the
    event only moves the clock: its kind is unknown, a rank sent an event of its node, or its data is refused."""
    run.arrived = event.at if arrived is None else arrived
    run.now = max(run.now, run.arrived)
    if run.at is None or event.at > run.at:
        run.at = event.at
    if run.started_at is None:
        run.started_at = event.at
    node = None if event.node is None else run.node(event.node)
    if node is not None and event.kind != "lost":  # `lost` comes from the keeper, not from the node
        run.heard(node, run.arrived)
    try:
        payload = event.payload
    except Refused:
        return False
    kind = type(payload)
    if event.rank is not None and kind in OF_RANKS:
        OF_RANKS[kind](run, event, payload)
    elif event.rank is None and kind in OF_THE_RUN:
        OF_THE_RUN[kind](run, event, payload)
    elif event.rank is None and node is not None and kind in OF_NODES:
        OF_NODES[kind](run, node, event, payload)
    else:
        return False
    return True
