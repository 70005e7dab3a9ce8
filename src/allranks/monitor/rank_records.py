"""The state of one rank and of one node, in bounded memory."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Deque, Dict, List, Optional, Sequence, Tuple

from allranks.core import Event
from allranks.core.node_events import Failure, GpuSample, Sample
from allranks.core.rank_events import Operator, Settings
from allranks.monitor.base_reading import BaseReading

RECENT_STEPS = 64
"""Steps kept per rank: enough for a median and a spread, and few enough to hold 8,000 ranks in memory."""

FIRST_LOSSES = 16
EXCEPTIONS_KEPT = 4
FRAMES_KEPT = 64
IDLE_PERCENT = 5.0
SLOWDOWNS = frozenset(
    ("hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown")
)
"""The clocks_event_reasons of nvidia-smi that make a GPU slower than it should be. A power cap is not one of them."""

MEMORY_POINTS = 256
"""Memory samples kept per rank; when full, every second one is dropped and the interval doubles."""


def begins_anew(before: Any, phase: Any) -> bool:
    """Whether a rank with these phases begins another training in the same process."""
    return before == "done" and isinstance(phase, str) and phase not in ("done", "evaluating", "saving")


@dataclass(eq=False)
class RankState:
    """One rank: its identity, its progress, its end. None means unknown. Times are on the head's clock."""

    rank: int
    node: Optional[str] = None
    host: Optional[str] = None
    identity: Optional[Tuple[Any, ...]] = None
    uuid: Optional[str] = None
    bus_id: Optional[str] = None
    world_size: Optional[int] = None
    settings: Settings = field(default_factory=Settings)
    phase: Optional[str] = None
    phase_at: Optional[float] = None
    prepared: bool = False
    """Whether it has reached a process group, a Trainer, DeepSpeed or a first batch."""
    phase_heard_at: Optional[float] = None
    """When its phase began, by the watcher's own clock."""
    started_at: Optional[float] = None
    beat_at: Optional[float] = None
    cpu: Optional[Tuple[float, float]] = None
    """(when its node's last sample came, the CPU seconds in it)."""
    busy_at: Optional[float] = None
    """When a sample last showed that it used the CPU since the sample before, both after its last heartbeat."""
    stopped_at: Optional[float] = None
    """Since when all samples show it stopped, by a signal or a debugger."""
    step: Optional[int] = None
    total_steps: Optional[int] = None
    step_at: Optional[float] = None
    first_step_at: Optional[float] = None
    loss: Optional[float] = None
    learning_rate: Optional[float] = None
    gradient_norm: Optional[float] = None
    nan_steps: int = 0
    nan_since: Optional[int] = None
    """The first step whose loss is not a number."""
    losses: Deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_STEPS))
    first_losses: List[float] = field(default_factory=list)
    moved_at: Optional[float] = None
    unread: bool = False
    """Whether its last heartbeat has a phase or a step that cannot be read."""
    progress: Any = None
    base: Optional[BaseReading] = None
    """How it reads the base model, if it reads its own part."""
    operator: Optional[Operator] = None
    """The operator that torch compiles in it now, or whose lock it waits for."""
    steps_seen: int = 0
    seconds: Deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_STEPS))
    data_seconds: Deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_STEPS))
    own_seconds: Deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_STEPS))
    tokens: Deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_STEPS))
    saved_steps: Deque[int] = field(default_factory=lambda: deque(maxlen=8))
    rss_bytes: Optional[int] = None
    gpu_bytes: Optional[int] = None
    memory: List[Tuple[float, int]] = field(default_factory=list)
    memory_every: float = 1.0
    exceptions: List[Event] = field(default_factory=list)
    end_code: Optional[int] = None
    end_at: Optional[float] = None
    gone_code: Optional[int] = None
    gone_at: Optional[float] = None
    ended_heard_at: Optional[float] = None
    """When its end was first heard, by the watcher's own clock."""

    def begin_anew(self) -> None:
        """Another training begins in the same process: the pace and the losses of the one before say nothing of it."""
        self.steps_seen, self.first_losses = 0, []
        self.nan_steps, self.nan_since = 0, None
        for kept in (self.seconds, self.data_seconds, self.own_seconds, self.tokens, self.losses):
            kept.clear()

    @property
    def code(self) -> Optional[int]:
        """The exit code: the kernel's (negative for a signal), else Python's; None while it lives."""
        return self.gone_code if self.gone_code is not None else self.end_code

    @property
    def ended_at(self) -> Optional[float]:
        times = [t for t in (self.gone_at, self.end_at) if t is not None]
        return min(times) if times else None

    def hear_end(self, at: float) -> None:
        self.ended_heard_at = at if self.ended_heard_at is None else self.ended_heard_at

    @property
    def alive(self) -> bool:
        return self.gone_at is None and self.end_at is None


@dataclass(eq=False)
class NodeState:
    """One node's supervisor and its torchrun."""

    name: str
    joined_at: Optional[float] = None
    seen_at: Optional[float] = None
    lost_at: Optional[float] = None
    lost_why: str = ""
    lease_lost_at: Optional[float] = None
    ended_at: Optional[float] = None
    ended_code: Optional[int] = None
    failures: Sequence[Failure] = ()
    stopping_at: Optional[float] = None
    swept_at: Optional[float] = None
    sample: Sample = field(default_factory=Sample)
    sample_at: Optional[float] = None
    gpus: Sequence[GpuSample] = ()
    """The GPUs at `gpus_at`; most samples have none, since nvidia-smi costs more than the rest."""
    gpus_at: Optional[float] = None
    throttled: Dict[str, float] = field(default_factory=dict)
    kernel: List[str] = field(default_factory=list)
    kernel_at: Optional[float] = None
    kernel_unread: str = ""
    boot_id: str = ""
