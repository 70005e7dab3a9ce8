"""What is known of a run, folded from its events one at a time, in bounded memory.

An event costs O(1): 8,000 ranks that each beat once a second are followed by one core.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Deque, Dict, List, Mapping, Optional, Tuple

from allranks.words import Event

RECENT_STEPS = 64
"""Steps kept a rank: enough for a median and a spread, little enough for 8,000 ranks in memory."""

EXCEPTIONS_KEPT = 4
MEMORY_POINTS = 256
"""Memory samples kept a rank; when full, every second one is dropped and the interval doubles."""


class RankState:
    """One rank: who it is, where it stands, how it ended. Unknown is None. Times are on the head's clock."""

    __slots__ = (
        "beat_at", "beat_gap", "bus_id", "data_seconds", "end_at", "end_code", "exceptions", "first_step_at",
        "gone_at", "gone_code", "gpu_bytes", "host", "identity", "learning_rate", "loss", "memory",
        "memory_every", "nan_steps", "node", "phase", "phase_at", "rank", "rss_bytes", "saved_steps",
        "seconds", "settings", "started_at", "step", "step_at", "tokens", "total_steps", "uuid", "world_size",
    )  # fmt: skip

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.node: Optional[str] = None
        self.host: Optional[str] = None
        self.identity: Optional[Tuple[Any, ...]] = None
        self.uuid: Optional[str] = None
        self.bus_id: Optional[str] = None
        self.world_size: Optional[int] = None
        self.settings: Mapping[str, Any] = {}
        self.phase: Optional[str] = None
        self.phase_at: Optional[float] = None
        self.started_at: Optional[float] = None
        self.beat_at: Optional[float] = None
        self.beat_gap = 0.0
        self.step: Optional[int] = None
        self.total_steps: Optional[int] = None
        self.step_at: Optional[float] = None
        self.first_step_at: Optional[float] = None
        self.loss: Optional[float] = None
        self.learning_rate: Optional[float] = None
        self.nan_steps = 0
        self.seconds: Deque[float] = deque(maxlen=RECENT_STEPS)
        self.data_seconds: Deque[float] = deque(maxlen=RECENT_STEPS)
        self.tokens: Deque[float] = deque(maxlen=RECENT_STEPS)
        self.saved_steps: Deque[int] = deque(maxlen=8)
        self.rss_bytes: Optional[int] = None
        self.gpu_bytes: Optional[int] = None
        self.memory: List[Tuple[float, int]] = []
        self.memory_every = 1.0
        self.exceptions: List[Event] = []
        self.end_code: Optional[int] = None
        self.end_at: Optional[float] = None
        self.gone_code: Optional[int] = None
        self.gone_at: Optional[float] = None

    @property
    def code(self) -> Optional[int]:
        """How it ended: what the kernel said (negative: a signal) before what Python said; None while it lives."""
        return self.gone_code if self.gone_code is not None else self.end_code

    @property
    def ended_at(self) -> Optional[float]:
        times = [t for t in (self.gone_at, self.end_at) if t is not None]
        return min(times) if times else None

    @property
    def alive(self) -> bool:
        return self.gone_at is None and self.end_at is None


class NodeState:
    """One node's supervisor and its torchrun."""

    __slots__ = (
        "ended_at", "ended_code", "failures", "joined_at", "lease_lost_at", "lost_at", "lost_why", "name",
        "sample", "sample_at", "seen_at", "stopping_at", "swept_at",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.joined_at: Optional[float] = None
        self.seen_at: Optional[float] = None
        self.lost_at: Optional[float] = None
        self.lost_why: str = ""
        self.lease_lost_at: Optional[float] = None
        self.ended_at: Optional[float] = None
        self.ended_code: Optional[int] = None
        self.failures: List[Mapping[str, Any]] = []
        self.stopping_at: Optional[float] = None
        self.swept_at: Optional[float] = None
        self.sample: Mapping[str, Any] = {}
        self.sample_at: Optional[float] = None


class RunState:
    """All ranks and nodes of a run. `fold` never raises on an odd event: it comes from another machine."""

    def __init__(self, expect: "Mapping[str, Any] | None" = None) -> None:
        self.expect: Mapping[str, Any] = dict(expect or {})
        self.ranks: Dict[int, RankState] = {}
        self.nodes: Dict[str, NodeState] = {}
        self.at: Optional[float] = None
        self.started_at: Optional[float] = None
        self.phase: Optional[str] = None
        self.state: Optional[str] = None
        self.stopping_at: Optional[float] = None
        self.step = -1
        self.step_at: Optional[float] = None
        self.gpus: Dict[Tuple[Any, ...], int] = {}
        self.processes: Dict[Tuple[Any, ...], int] = {}
        self.clashes: List[Tuple[str, int, int]] = []
        self.odd_events = 0

    def rank(self, number: int) -> RankState:
        found = self.ranks.get(number)
        if found is None:
            found = self.ranks[number] = RankState(number)
        return found

    def node(self, name: str) -> NodeState:
        found = self.nodes.get(name)
        if found is None:
            found = self.nodes[name] = NodeState(name)
        return found

    @property
    def world_size(self) -> Optional[int]:
        """How many ranks there should be."""
        value = self.expect.get("world_size")
        return int(value) if isinstance(value, (int, float)) and value > 0 else None

    def fold(self, event: Event) -> None:
        """Takes one event in; an event of an unknown kind only moves the clock."""
        if self.at is None or event.at > self.at:
            self.at = event.at
        if self.started_at is None:
            self.started_at = event.at
        if event.node is not None:
            self.node(event.node).seen_at = event.at
        handler = _HANDLERS.get(event.kind)
        if handler is None:
            return
        try:
            handler(self, event)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError):
            self.odd_events += 1  # half an event, or another version's: counted, never fatal


def _number(value: Any) -> Optional[float]:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _integer(value: Any) -> Optional[int]:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _list(value: Any) -> List[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _on_start(run: RunState, event: Event) -> None:
    if event.rank is None:
        return
    fresh = RankState(event.rank)  # a restarted rank begins anew
    run.ranks[event.rank] = fresh
    data = event.data
    fresh.node, fresh.started_at = event.node, event.at
    fresh.beat_at, fresh.phase, fresh.phase_at = event.at, "importing", event.at
    host = data.get("host")
    fresh.host = None if host is None else str(host)
    if data.get("pid") is not None:
        fresh.identity = (fresh.host, data.get("boot_id"), data.get("pid"), data.get("start_time"))
    gpu = data.get("gpu") or {}
    fresh.uuid, fresh.bus_id = gpu.get("uuid"), gpu.get("bus_id")
    fresh.world_size = _integer(data.get("world_size"))
    _note_clashes(run, fresh, data.get("boot_id"))


def _note_clashes(run: RunState, fresh: RankState, boot_id: Any) -> None:
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


def _on_settings(run: RunState, event: Event) -> None:
    if event.rank is None:
        return
    rank = run.rank(event.rank)
    rank.node = event.node or rank.node
    rank.settings = {**rank.settings, **event.data}
    if _integer(event.data.get("world_size")) is not None:
        rank.world_size = _integer(event.data.get("world_size"))
    if _integer(event.data.get("total_steps")) is not None:
        rank.total_steps = _integer(event.data.get("total_steps"))


def _on_beat(run: RunState, event: Event) -> None:
    if event.rank is None:
        return
    rank, data, at = run.rank(event.rank), event.data, event.at
    if rank.node is None:
        rank.node = event.node
    if rank.beat_at is not None and at - rank.beat_at > rank.beat_gap:
        rank.beat_gap = at - rank.beat_at
    rank.beat_at = at if rank.beat_at is None else max(at, rank.beat_at)
    phase = data.get("phase")
    if phase is not None and phase != rank.phase:
        rank.phase, rank.phase_at = str(phase), at
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


def _on_step(rank: RankState, entry: Any) -> None:
    """One `[step, loss, seconds, data_seconds, tokens, learning_rate]`; any but the first may be None."""
    values = list(entry) + [None] * 6
    loss = _number(values[1])
    if loss is not None:
        rank.loss = loss
        finite = loss == loss and loss not in (float("inf"), float("-inf"))
        rank.nan_steps = 0 if finite else rank.nan_steps + 1
    for kept, value in ((rank.seconds, values[2]), (rank.data_seconds, values[3]), (rank.tokens, values[4])):
        number = _number(value)
        if number is not None and number >= 0:
            kept.append(number)
    if _number(values[5]) is not None:
        rank.learning_rate = _number(values[5])


def _advance(run: RunState, rank: RankState, step: Optional[int], at: float) -> None:
    if step is None or (rank.step is not None and step <= rank.step):
        return
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
        step = _integer(event.data.get("step"))
        run.rank(event.rank).saved_steps.append(-1 if step is None else step)


def _on_exception(run: RunState, event: Event) -> None:
    if event.rank is None:
        return
    rank = run.rank(event.rank)
    rank.node = rank.node or event.node
    if len(rank.exceptions) < EXCEPTIONS_KEPT:
        data = {**event.data, "frames": _frames(event.data.get("frames"))}
        rank.exceptions.append(Event(event.at, event.kind, event.node, event.rank, data))


def _frames(value: Any) -> List[Tuple[str, Optional[int], str]]:
    """The frames that are some: (file, line, function), the last 64."""
    kept = []
    for frame in list(value)[-64:] if isinstance(value, (list, tuple)) else ():
        if isinstance(frame, (list, tuple)) and frame:
            parts = (*frame, None, None)
            kept.append((str(parts[0]), _integer(parts[1]), str(parts[2] or "?")))
    return kept


def _on_end(run: RunState, event: Event) -> None:
    if event.rank is not None:
        rank = run.rank(event.rank)
        rank.node = rank.node or event.node
        rank.end_code, rank.end_at = _integer(event.data.get("code")), event.at


def _on_rank_gone(run: RunState, event: Event) -> None:
    if event.rank is None:
        return
    rank = run.rank(event.rank)
    rank.node, rank.gone_at = rank.node or event.node, event.at
    rank.gone_code = _integer(event.data.get("code"))


def _on_torchrun_ended(run: RunState, event: Event) -> None:
    if event.node is None:
        return
    node = run.node(event.node)
    node.ended_at, node.ended_code = event.at, _integer(event.data.get("code"))
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


def _on_node(attribute: str) -> Any:
    def handler(run: RunState, event: Event) -> None:
        if event.node is None:
            return
        node = run.node(event.node)
        setattr(node, attribute, event.at)
        if attribute == "joined_at":
            node.lost_at, node.lost_why = None, ""  # it is back
        elif attribute == "lost_at":
            node.lost_why = str(event.data.get("why") or "")
        elif attribute == "stopping_at" and run.stopping_at is None:
            run.stopping_at = event.at

    return handler


def _on_sample(run: RunState, event: Event) -> None:
    if event.node is not None:
        node = run.node(event.node)
        node.sample, node.sample_at = dict(event.data), event.at


def _on_state(run: RunState, event: Event) -> None:
    run.state = str(event.data.get("state") or run.state)


def _on_phase(run: RunState, event: Event) -> None:
    run.phase = str(event.data.get("phase") or run.phase)


_HANDLERS = {
    "start": _on_start,
    "settings": _on_settings,
    "beat": _on_beat,
    "saved": _on_saved,
    "exception": _on_exception,
    "end": _on_end,
    "rank-gone": _on_rank_gone,
    "torchrun-ended": _on_torchrun_ended,
    "joined": _on_node("joined_at"),
    "supervisor": _on_node("joined_at"),
    "lost": _on_node("lost_at"),
    "lease-lost": _on_node("lease_lost_at"),
    "stopping": _on_node("stopping_at"),
    "swept": _on_node("swept_at"),
    "sample": _on_sample,
    "state": _on_state,
    "phase": _on_phase,
}
