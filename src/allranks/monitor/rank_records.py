"""What is known of one rank and of one node, in bounded memory."""

from __future__ import annotations

from collections import deque
from typing import Any, Deque, Dict, List, Optional, Sequence, Tuple

from allranks.core import Event
from allranks.core.node_events import Failure, GpuSample, Sample
from allranks.core.rank_events import Operator, Settings

RECENT_STEPS = 64
"""Steps kept a rank: enough for a median and a spread, little enough for 8,000 ranks in memory."""

FIRST_LOSSES = 16
EXCEPTIONS_KEPT = 4
FRAMES_KEPT = 64
IDLE_PERCENT = 5.0
SLOWDOWNS = frozenset(
    ("hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown")
)
"""nvidia-smi's clocks_event_reasons that mean that a GPU is slower than it should be; a power cap is none."""

MEMORY_POINTS = 256
"""Memory samples kept a rank; when full, every second one is dropped and the interval doubles."""


class RankState:
    """One rank: who it is, where it stands, how it ended. Unknown is None. Times are on the head's clock."""

    __slots__ = (
        "beat_at", "bus_id", "busy_at", "cpu", "data_seconds", "end_at", "end_code", "ended_heard_at", "exceptions",
        "first_losses", "first_step_at", "gone_at", "gone_code", "gpu_bytes", "gradient_norm", "host", "identity",
        "learning_rate", "loss", "losses", "memory", "memory_every", "moved_at", "nan_since", "nan_steps",
        "node", "operator", "own_seconds", "phase", "phase_at", "phase_heard_at", "prepared", "progress", "rank",
        "rss_bytes", "saved_steps", "seconds", "settings", "started_at", "step", "step_at", "steps_seen", "stopped_at",
        "tokens", "total_steps", "unread", "uuid", "world_size",
    )  # fmt: skip

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.node: Optional[str] = None
        self.host: Optional[str] = None
        self.identity: Optional[Tuple[Any, ...]] = None
        self.uuid: Optional[str] = None
        self.bus_id: Optional[str] = None
        self.world_size: Optional[int] = None
        self.settings = Settings()
        self.phase: Optional[str] = None
        self.phase_at: Optional[float] = None
        self.prepared = False
        """Whether it came as far as a process group, a Trainer, DeepSpeed or a first batch."""
        self.phase_heard_at: Optional[float] = None
        """The same by the watcher's own clock."""
        self.started_at: Optional[float] = None
        self.beat_at: Optional[float] = None
        self.cpu: Optional[Tuple[float, float]] = None
        """(when its node's last sample came, the CPU seconds in it)."""
        self.busy_at: Optional[float] = None
        """When a sample last showed that it used the CPU since the one before, both after its last beat."""
        self.stopped_at: Optional[float] = None
        """Since when each sample shows it stopped, by a signal or a debugger."""
        self.step: Optional[int] = None
        self.total_steps: Optional[int] = None
        self.step_at: Optional[float] = None
        self.first_step_at: Optional[float] = None
        self.loss: Optional[float] = None
        self.learning_rate: Optional[float] = None
        self.gradient_norm: Optional[float] = None
        self.nan_steps = 0
        self.nan_since: Optional[int] = None
        """The first step of those that are no number."""
        self.losses: Deque[float] = deque(maxlen=RECENT_STEPS)
        self.first_losses: List[float] = []
        self.moved_at: Optional[float] = None
        self.unread = False
        """Whether its last beat has a phase or a step that cannot be read."""
        self.progress: Any = None
        self.operator: Optional[Operator] = None
        """What torch compiles in it now, or whose lock it waits for."""
        self.steps_seen = 0
        self.seconds: Deque[float] = deque(maxlen=RECENT_STEPS)
        self.data_seconds: Deque[float] = deque(maxlen=RECENT_STEPS)
        self.own_seconds: Deque[float] = deque(maxlen=RECENT_STEPS)
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
        self.ended_heard_at: Optional[float] = None
        """When its end was heard first, by the watcher's own clock."""

    @property
    def code(self) -> Optional[int]:
        """How it ended: what the kernel said (negative: a signal) before what Python said; None while it lives."""
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


class NodeState:
    """One node's supervisor and its torchrun."""

    __slots__ = (
        "boot_id", "ended_at", "ended_code", "failures", "gpus", "gpus_at",
        "joined_at", "kernel", "kernel_at", "kernel_unread", "lease_lost_at", "lost_at", "lost_why", "name",
        "sample", "sample_at", "seen_at", "stopping_at", "swept_at", "throttled",
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
        self.failures: Sequence[Failure] = ()
        self.stopping_at: Optional[float] = None
        self.swept_at: Optional[float] = None
        self.sample = Sample()
        self.sample_at: Optional[float] = None
        self.gpus: Sequence[GpuSample] = ()
        """The last look at the GPUs, at `gpus_at`; most samples have none: nvidia-smi costs more than the rest."""
        self.gpus_at: Optional[float] = None
        self.throttled: Dict[str, float] = {}
        self.kernel: List[str] = []
        self.kernel_at: Optional[float] = None
        self.kernel_unread: str = ""
        self.boot_id: str = ""
