"""The state of a run, built from its events one by one, in bounded memory.

An event costs O(1): one core follows 8,000 ranks with one heartbeat per second each.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from allranks.core import Finding
from allranks.core.node_events import ProcessSeen
from allranks.core.rank_events import Flight, Stack
from allranks.monitor.clock_offsets import Ears, Lateness
from allranks.monitor.rank_records import NodeState, RankState

__all__ = ["NodeState", "RankState", "RunState"]

GAP_SECONDS = 10.0
"""A longer silence of a node was an outage that has passed; it does not show the node's pace."""

OUTAGE_SECONDS = 5.0
"""A node that was not heard for so long (five signs of life) was cut off, and its ranks' events with it."""

DOUBT_SECONDS = 35.0
"""For how long the end of a rank without a known code may be a failure: torchrun gives the other ranks of its node 30
s to end, then it ends itself. A torchrun that still runs after that has seen no failure."""

LEASE_SECONDS = 30.0
"""The default lease."""

BEAT_GAP_SECONDS = 15.0
"""If a rank was later than this, its limit stays at four times this value, a minute: the limit of a rank that loads."""


class RunState:
    """All ranks and nodes of a run: `event_handlers.apply` takes events in."""

    def __init__(self, expect: "Mapping[str, Any] | None" = None) -> None:
        self.expect: Mapping[str, Any] = dict(expect or {})
        self.ranks: Dict[int, RankState] = {}
        self.nodes: Dict[str, NodeState] = {}
        self.at: Optional[float] = None
        self.now = self.arrived = 0.0
        """Times on the watcher's own clock: the newest one, and the arrival of the current event. Silences are judged
        by this clock, since a node's clock may be set at any time. The order of events is judged by the times of the
        events."""
        self.ears = Ears()
        self.started_at: Optional[float] = None
        self.phase: Optional[str] = None
        self.state: Optional[str] = None
        self.stopping_at: Optional[float] = None
        self.step = -1
        self.step_at: Optional[float] = None
        self.gpus: Dict[Tuple[Any, ...], int] = {}
        self.processes: Dict[Tuple[Any, ...], int] = {}
        self.clashes: List[Tuple[str, int, int]] = []
        self.digests: Dict[str, Dict[str, int]] = {}
        self.longest: Dict[str, float] = {}
        self.last_move: Optional[float] = None
        self.pauses: List[float] = []
        self.held_pauses: List[float] = []
        """Pauses in which a rank was named that then continued by itself."""
        self.beat_gaps, self.node_gaps = Lateness(BEAT_GAP_SECONDS), Lateness(GAP_SECONDS)
        self.trouble_at: Optional[float] = None
        self.doubt_at: Optional[float] = None
        """When a rank ended whose exit code is unknown."""
        self.paused_until = 0.0
        self.back_at = float("-inf")
        """When a node was last heard again after an outage."""
        self.flights: Dict[int, Flight] = {}
        self.flights_at: Dict[int, float] = {}
        self.asked_at: Optional[float] = None
        """When the keeper asked all ranks for their stacks; their answers follow."""
        self.looked_at: Optional[float] = None
        """When the keeper asked the ranks before a stall was reported (`start_patience`)."""
        self.stacks: Dict[int, Stack] = {}
        self.looks: Dict[int, ProcessSeen] = {}
        self.answers = 0
        """The number of answers so far: a judgement holds until the next one."""
        self.held_up: Optional[Tuple[float, Any, Finding]] = None
        """(when, the rank, the finding) of the last stall for which a rank was named."""
        self.cut_off: Any = None
        """When the head was cut off from all other nodes (`head_isolation`)."""
        self.aside_at = 0.0
        """When a spare was last heard."""
        self._memories: Dict[str, Dict[Any, Any]] = {}

    def memory_of(self, detector: str) -> Dict[Any, Any]:
        """The memory of a detector between two looks."""
        return self._memories.setdefault(detector, {})

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

    def in_trouble(self, at: float) -> None:
        """A sign that the run fails. A silence after the first such sign has a reason."""
        if self.doubted and self.doubt_at is not None:
            at = min(at, self.doubt_at)
        if self.trouble_at is None or at < self.trouble_at:
            self.trouble_at = at

    @property
    def doubted(self) -> bool:
        """Whether a rank has ended and it is not yet known whether it failed."""
        return self.doubt_at is not None and self.now - self.doubt_at < DOUBT_SECONDS

    def machine_lives(self, node: NodeState) -> bool:
        """Whether the machine of a lost node is known to live: its kernel closed the connection, or another
        supervisor with the same boot id is heard (nodes that are one host)."""
        others = (n for n in self.nodes.values() if n is not node and n.boot_id == node.boot_id)
        same_boot = any(n.lost_at is None for n in others) if node.boot_id else False
        return node.lost_why == "closed" or same_boot

    @property
    def beat_gap(self) -> float:
        """How late the heartbeats of living ranks have been recently, in seconds."""
        return self.beat_gaps.of(self.now)

    @property
    def node_gap(self) -> float:
        """How late the signs of life of living nodes have been recently, in seconds."""
        return self.node_gaps.of(self.now)

    @property
    def moved_at(self) -> Optional[float]:
        """When a living rank last moved: took a step, changed its phase, or moved a progress bar."""
        return max(
            (r.moved_at for r in self.ranks.values() if r.alive and r.moved_at is not None), default=None
        )

    @property
    def open_nodes(self) -> List[NodeState]:
        """The nodes whose torchrun is not known to have ended."""
        return [n for n in self.nodes.values() if n.ended_at is None and n.swept_at is None]

    @property
    def quiet(self) -> bool:
        """Whether detectors stay silent: the run is being stopped, or a rank or torchrun has failed."""
        return self.stopping_at is not None or self.trouble_at is not None or self.doubted

    @property
    def total_steps(self) -> Optional[int]:
        """The planned number of steps."""
        value = self.expect.get("total_steps") or self.expect.get("steps")
        return int(value) if isinstance(value, (int, float)) and value > 0 else None

    @property
    def world_size(self) -> Optional[int]:
        """The planned number of ranks."""
        value = self.expect.get("world_size")
        return int(value) if isinstance(value, (int, float)) and value > 0 else None

    @property
    def known_world_size(self) -> int:
        """The planned number of ranks, else the number that the ranks report; 0 if no rank reports it."""
        return self.world_size or max((r.world_size or 0 for r in self.ranks.values()), default=0)

    @property
    def lease_seconds(self) -> float:
        """The length of a lease: until it ends, the supervisor may dial again without consequences."""
        return float(self.expect.get("lease_seconds") or LEASE_SECONDS)

    def matters(self, node: NodeState) -> bool:
        """Whether the loss of a node counts: it does not if its supervisor hangs up after its torchrun has ended, or
        while the run stops."""
        return node.ended_at is None and node.swept_at is None and self.stopping_at is None

    def heard(self, node: NodeState, at: float) -> None:
        """Notes an event of the node, or of one of its ranks, at `at` on the watcher's clock."""
        self.now = max(self.now, at)
        self.ears.hear(at)
        if node.seen_at is not None and node.lost_at is None:
            self.node_gaps.add(self.ears.silence(node.seen_at, at), at)
        if node.seen_at is not None and at - node.seen_at > OUTAGE_SECONDS:
            self.back_at = at
        node.seen_at = max(at, node.seen_at or at)

    def shift(self, seconds: float, now: float) -> None:
        """Moves the times of silence forward: the watcher was away for so many seconds, or its clock was set by so
        many (negative: back). That time does not count as silence. Everything heard since then counts as heard just
        now."""
        ahead = max(0.0, seconds)

        def moved(at: Optional[float]) -> Optional[float]:
            return None if at is None else min(at + ahead, now)

        for rank in self.ranks.values():
            rank.beat_at, rank.moved_at = moved(rank.beat_at), moved(rank.moved_at)
            rank.ended_heard_at, rank.busy_at = moved(rank.ended_heard_at), moved(rank.busy_at)
            rank.cpu, rank.stopped_at = None, moved(rank.stopped_at)
            rank.phase_heard_at = moved(rank.phase_heard_at)
            if rank.base is not None:
                rank.base.moved_at = min(rank.base.moved_at + ahead, now)
        for node in self.nodes.values():
            node.seen_at, node.lost_at = moved(node.seen_at), moved(node.lost_at)
            node.sample_at = moved(node.sample_at)
        self.asked_at, self.looked_at = moved(self.asked_at), moved(self.looked_at)
        self.aside_at = min(self.aside_at + ahead, now)
        if self.cut_off is not None:
            self.cut_off = self.cut_off._replace(at=min(self.cut_off.at + ahead, now))
        self.last_move, self.doubt_at = moved(self.last_move), moved(self.doubt_at)
        self.back_at = min(self.back_at + ahead, now)
        if self.held_up is not None:
            self.held_up = (min(self.held_up[0] + ahead, now), *self.held_up[1:])
        self.now = now
