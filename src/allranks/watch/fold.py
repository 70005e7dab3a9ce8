"""How each kind of event changes what is known of a run: one handler a kind."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple

from allranks.watch.records import (
    DISK_POINTS,
    EXCEPTIONS_KEPT,
    FIRST_LOSSES,
    IDLE_PERCENT,
    MEMORY_POINTS,
    SLOWDOWNS,
    NodeState,
    RankState,
)
from allranks.words import Event

if TYPE_CHECKING:
    from allranks.watch.state import RunState


EARLIER_SECONDS = 1.0
"""Ranks that torchrun ends after a failure go within its next looks, 0.1 s each."""


def _number(value: Any) -> Optional[float]:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _integer(value: Any) -> Optional[int]:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _list(value: Any) -> List[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _on_start(run: "RunState", event: Event) -> None:
    if event.rank is None:
        return
    data = event.data
    host = None if data.get("host") is None else str(data.get("host"))
    identity = (host, data.get("boot_id"), data.get("pid"), data.get("start_time"))
    fresh = run.ranks.get(event.rank)
    if fresh is None or fresh.identity != identity or data.get("pid") is None:
        fresh = run.ranks[event.rank] = RankState(event.rank)  # a restarted rank begins anew
        fresh.started_at = fresh.beat_at = fresh.phase_at = fresh.moved_at = event.at
        fresh.phase = "importing"
    fresh.node, fresh.host = event.node, host
    fresh.identity = identity if data.get("pid") is not None else None
    gpu = data.get("gpu") or {}
    fresh.uuid, fresh.bus_id = gpu.get("uuid") or fresh.uuid, gpu.get("bus_id") or fresh.bus_id
    fresh.world_size = _integer(data.get("world_size"))
    _note_clashes(run, fresh, data.get("boot_id"))


def _note_clashes(run: "RunState", fresh: RankState, boot_id: Any) -> None:
    """Remembers who holds which GPU and which process, so that a second holder is seen in O(1)."""
    machine = boot_id or fresh.host  # two names of one machine share the boot id
    device = fresh.uuid or fresh.bus_id  # slices of one GPU share the bus id, not the UUID
    if machine and device:
        _hold(run, run.gpus, "gpu", (machine, device), fresh.rank)
    if machine and fresh.identity is not None and fresh.identity[3] is not None:
        _hold(run, run.processes, "process", (machine, *fresh.identity[2:]), fresh.rank)


def _hold(
    run: RunState, held: Dict[Tuple[Any, ...], int], kind: str, key: Tuple[Any, ...], rank: int
) -> None:
    other = held.get(key)
    if other is not None and other != rank and run.rank(other).alive and len(run.clashes) < 4096:
        run.clashes.append((kind, other, rank))
    held[key] = rank


def _on_settings(run: "RunState", event: Event) -> None:
    if event.rank is None:
        return
    rank = run.rank(event.rank)
    rank.node = event.node or rank.node
    rank.settings = {**rank.settings, **event.data}
    if _integer(event.data.get("world_size")) is not None:
        rank.world_size = _integer(event.data.get("world_size"))
    if _integer(event.data.get("total_steps")) is not None:
        rank.total_steps = _integer(event.data.get("total_steps"))
    for name in ("trainable_digest", "data_digest"):
        digest = event.data.get(name)
        if digest is not None:
            run.digests.setdefault(name, {}).setdefault(str(digest), event.rank)


def _on_beat(run: "RunState", event: Event) -> None:
    if event.rank is None:
        return
    rank, data, at = run.rank(event.rank), event.data, event.at
    if rank.node is None:
        rank.node = event.node
    if rank.beat_at is not None and rank.phase == "training":
        rank.beat_gap = max(at - rank.beat_at, 0.98 * rank.beat_gap)  # fades: one hiccup is not for ever
        if rank.beat_gap > run.beat_gap:
            run.beat_gap = rank.beat_gap
    rank.beat_at = at if rank.beat_at is None else max(at, rank.beat_at)
    phase = data.get("phase")
    if phase is not None and phase != rank.phase:
        _change_phase(run, rank, str(phase), at)
    progress = (data.get("shard"), data.get("progress"))
    if progress != rank.progress and progress != (None, None):
        rank.progress, rank.moved_at = progress, at
    total = data.get("total_steps")
    if total is not None:
        rank.total_steps = _integer(total) or rank.total_steps
    for key in ("rss_bytes", "gpu_bytes"):
        value = data.get(key)
        if value is not None:
            setattr(rank, key, int(value))
    if rank.rss_bytes is not None:
        _remember_memory(rank, at, rank.rss_bytes)
    for entry in _list(data.get("steps")):
        _on_step(rank, entry)
    _advance(run, rank, _integer(data.get("step")), at)


def _change_phase(run: "RunState", rank: RankState, phase: str, at: float) -> None:
    """Remembers how long a phase that lies between the steps took at most: the next one may take as long."""
    if rank.phase in ("evaluating", "saving") and rank.phase_at is not None:
        run.longest[rank.phase] = max(run.longest.get(rank.phase, 0.0), at - rank.phase_at)
    rank.phase, rank.phase_at, rank.moved_at = phase, at, at


def _on_step(rank: RankState, entry: Any) -> None:
    """One `[step, loss, seconds, data_seconds, tokens, learning_rate]`; any but the first may be None."""
    values = list(entry) + [None] * 6
    loss = _number(values[1])
    if loss is not None:
        rank.loss = loss
        finite = loss == loss and loss not in (float("inf"), float("-inf"))
        rank.nan_steps = 0 if finite else rank.nan_steps + 1
        if finite:
            rank.losses.append(loss)
            if len(rank.first_losses) < FIRST_LOSSES:
                rank.first_losses.append(loss)
    for kept, value in ((rank.seconds, values[2]), (rank.data_seconds, values[3]), (rank.tokens, values[4])):
        number = _number(value)
        if number is not None and number >= 0:
            kept.append(number)
            if kept is rank.seconds:
                rank.steps_seen += 1
    if _number(values[5]) is not None:
        rank.learning_rate = _number(values[5])


def _advance(run: "RunState", rank: RankState, step: Optional[int], at: float) -> None:
    if step is None or (rank.step is not None and step <= rank.step):
        return
    rank.step = step
    rank.step_at = rank.moved_at = at
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


def _on_saved(run: "RunState", event: Event) -> None:
    if event.rank is not None:
        step = _integer(event.data.get("step"))
        run.rank(event.rank).saved_steps.append(-1 if step is None else step)


def _on_exception(run: "RunState", event: Event) -> None:
    if event.rank is None:
        return
    rank = run.rank(event.rank)
    rank.node = rank.node or event.node
    _trouble(run, event.at)
    if len(rank.exceptions) < EXCEPTIONS_KEPT:
        data = {**event.data, "frames": _frames(event.data.get("frames"))}
        rank.exceptions.append(Event(event.at, event.kind, event.node, event.rank, data))


def _trouble(run: "RunState", at: float) -> None:
    """The first sign that the run fails: from then on a silence has a reason."""
    if run.trouble_at is None or at < run.trouble_at:
        run.trouble_at = at


def _frames(value: Any) -> List[Tuple[str, Optional[int], str]]:
    """The frames that are some: (file, line, function), the last 64."""
    kept = []
    for frame in list(value)[-64:] if isinstance(value, (list, tuple)) else ():
        if isinstance(frame, (list, tuple)) and frame:
            parts = (*frame, None, None)
            kept.append((str(parts[0]), _integer(parts[1]), str(parts[2] or "?")))
    return kept


def _on_end(run: "RunState", event: Event) -> None:
    if event.rank is not None:
        rank = run.rank(event.rank)
        rank.node = rank.node or event.node
        rank.end_code, rank.end_at = _integer(event.data.get("code")), event.at
        if rank.end_code:
            _trouble(run, event.at)


def _on_rank_gone(run: "RunState", event: Event) -> None:
    if event.rank is None:
        return
    rank = run.rank(event.rank)
    rank.node, rank.gone_at = rank.node or event.node, event.at
    rank.gone_code = _integer(event.data.get("code"))
    if rank.end_code != 0 and rank.gone_code != 0:
        _trouble(run, event.at)


def _on_torchrun_ended(run: "RunState", event: Event) -> None:
    if event.node is None:
        return
    node = run.node(event.node)
    node.ended_at, node.ended_code = event.at, _integer(event.data.get("code"))
    if node.ended_code:
        _trouble(run, event.at)
    node.failures = [f for f in _list(event.data.get("failures")) if isinstance(f, Mapping)][:1024]
    for failure in node.failures:
        number, code = _integer(failure.get("rank")), _integer(failure.get("code"))
        if number is None:
            continue
        rank = run.rank(number)
        rank.node = rank.node or event.node
        if rank.gone_code is None and code is not None:
            rank.gone_code = code
        if rank.gone_at is None:
            rank.gone_at = event.at
    _ended_well(run, node)


def _ended_well(run: "RunState", node: NodeState) -> None:
    """torchrun takes a dead rank's code within 0.1 s, often before anybody else sees it, and tells only of failures:
    a rank of which it tells none, gone before any that failed and before our stop, has ended with 0."""
    failed = [_integer(f.get("rank")) for f in node.failures]
    times = [run.ranks[n].gone_at or 0.0 for n in failed if n is not None and n in run.ranks]
    ends = times or ([node.stopping_at] if node.stopping_at is not None else [])
    if node.ended_code != 0 and not ends:
        return
    for rank in run.ranks.values():
        unknown = rank.node == node.name and rank.gone_at is not None and rank.code is None
        if unknown and (node.ended_code == 0 or (rank.gone_at or 0.0) < min(ends) - EARLIER_SECONDS):
            rank.gone_code = 0


def _on_torchrun(run: "RunState", event: Event) -> None:
    """A torchrun starts; after one that ended it is a restart, and what the last attempt left is no sign any more."""
    if event.node is None:
        return
    node = run.node(event.node)
    if node.ended_at is None:
        return
    node.ended_at = node.ended_code = node.swept_at = node.stopping_at = None
    node.failures = []
    run.trouble_at = run.stopping_at = run.step_at = None
    run.step, run.beat_gap = -1, 0.0
    for rank in [r.rank for r in run.ranks.values() if r.node == event.node]:
        del run.ranks[rank]


CLOSED = re.compile(r"^closed$|closed the connection|reset by peer|broken pipe", re.IGNORECASE)
"""What `node/wire.py` says where the node's kernel ended the connection: that kernel lives. A reset instead of a
close comes where the dead process had not read everything."""


def _on_supervisor(run: "RunState", event: Event) -> None:
    _on_node("joined_at")(run, event)
    process = event.data.get("process")
    if event.node is not None and isinstance(process, Mapping):
        run.node(event.node).boot_id = str(process.get("boot_id") or "")


def _on_node(attribute: str) -> Any:
    def handler(run: "RunState", event: Event) -> None:
        if event.node is None:
            return
        node = run.node(event.node)
        setattr(node, attribute, event.at)
        if attribute == "joined_at":
            node.lost_at, node.lost_why = None, ""  # it is back
        elif attribute == "lost_at":
            why = str(event.data.get("why") or "")
            node.lost_why = "closed" if CLOSED.search(why) else why
        elif attribute == "stopping_at" and run.stopping_at is None:
            run.stopping_at = event.at

    return handler


def _on_sample(run: "RunState", event: Event) -> None:
    if event.node is None:
        return
    node = run.node(event.node)
    node.sample, node.sample_at = dict(event.data), event.at
    for disk in _list(event.data.get("disks"))[:16]:
        path, free = disk.get("path"), _integer(disk.get("free_bytes"))
        if path is not None and free is not None:
            node.disk_free.setdefault(str(path), deque(maxlen=DISK_POINTS)).append((event.at, free))
    for gpu in _list(event.data.get("gpus"))[:64]:
        name = str(gpu.get("uuid") or gpu.get("index"))
        utilization = _number(gpu.get("utilization"))
        _since(node.gpu_idle, name, utilization is not None and utilization < IDLE_PERCENT, event.at)
        slowed = [str(t) for t in _list(gpu.get("throttle")) if str(t) in SLOWDOWNS]
        _since(node.throttled, name, bool(slowed), event.at)


def _since(kept: Dict[str, float], name: str, holds: bool, at: float) -> None:
    """Remembers since when something holds."""
    if holds:
        kept.setdefault(name, at)
    else:
        kept.pop(name, None)


def _on_flight(run: "RunState", event: Event) -> None:
    if event.rank is not None:
        run.flights[event.rank] = dict(event.data)


def _on_evidence(run: "RunState", event: Event) -> None:
    """The keeper asks: what was answered before is of another moment."""
    run.asked_at = event.at
    run.stacks, run.looks, run.flights = {}, {}, {}


def _on_stack(run: "RunState", event: Event) -> None:
    """A rank's own answer counts before what was seen of it from outside."""
    if event.rank is None:
        return
    frames = _frames(event.data.get("frames"))
    if frames or not run.stacks.get(event.rank, {}).get("frames"):
        run.stacks[event.rank] = {**event.data, "frames": frames}


def _on_process(run: "RunState", event: Event) -> None:
    if event.rank is not None:
        run.looks[event.rank] = dict(event.data)


def _on_kernel(run: "RunState", event: Event) -> None:
    if event.node is not None:
        node = run.node(event.node)
        node.kernel, node.kernel_at = (
            [str(line)[:300] for line in _list(event.data.get("lines"))][-20:],
            event.at,
        )


def _on_state(run: "RunState", event: Event) -> None:
    run.state = str(event.data.get("state") or run.state)


def _on_phase(run: "RunState", event: Event) -> None:
    run.phase = str(event.data.get("phase") or run.phase)


HANDLERS: Dict[str, Callable[[Any, Event], None]] = {
    "start": _on_start,
    "settings": _on_settings,
    "beat": _on_beat,
    "saved": _on_saved,
    "exception": _on_exception,
    "end": _on_end,
    "rank-gone": _on_rank_gone,
    "torchrun": _on_torchrun,
    "torchrun-ended": _on_torchrun_ended,
    "joined": _on_node("joined_at"),
    "supervisor": _on_supervisor,
    "lost": _on_node("lost_at"),
    "lease-lost": _on_node("lease_lost_at"),
    "stopping": _on_node("stopping_at"),
    "swept": _on_node("swept_at"),
    "sample": _on_sample,
    "flight": _on_flight,
    "evidence": _on_evidence,
    "stack": _on_stack,
    "process": _on_process,
    "kernel": _on_kernel,
    "state": _on_state,
    "phase": _on_phase,
}
