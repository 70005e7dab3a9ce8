"""A node's memory is running out.

## How it is found
The memory that is left to the ranks of a node falls steadily while they train, and at this pace it is gone within an
hour. Or less than 3 % and less than 16 GiB are left.

The memory that is left is the machine's free memory, or the rest of the ranks' control group (a container, a SLURM
job) if that is less. Both include the file cache that the kernel can take back.

## Why it matters
The kernel then kills a rank (exit code -9), often in the middle of the night, and the run ends with it.

## What to do
Use fewer loader workers, do not keep tensors in lists over steps, and map data instead of holding it. If the container
or job has the nearest limit, raise it. Save more often.

Topic: nodes
"""

from __future__ import annotations

from collections import deque
from typing import Any, Deque, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from allranks.core import WARN, Finding, Where
from allranks.core.quantities import in_bytes
from allranks.monitor.rank_records import NodeState, RankState
from allranks.monitor.run_state import RunState

EVERY_SECONDS = 30.0
SPAN_SECONDS = 600.0
"""Allocators, caches and workers grow for minutes at first: a slope over a shorter time says nothing."""

POINTS = 20
KEPT = 64
"""Samples of the memory left that are kept: half an hour; the last half of them is judged."""

HORIZON_SECONDS = 3600.0
GROWTH = 0.10
RISING = 0.75
"""The share of the intervals between points in which memory must rise. The ups and downs of saves and evaluations do
not reach it."""

FREE_SHARE = 0.03
ROOM_BYTES = 16 << 30
"""3 % of 2 TiB is 60 GiB, which a run with steady memory never needs. 16 GiB are 2 GiB for each of eight ranks:
enough for new loader workers and for the copies that a save makes."""

FALL_POINTS = 11
"""If ranks grow, the memory left must also have fallen over this many samples: five minutes, as long as the ranks'
own slope takes."""

FALL_SHARE = 0.5
"""The memory left must have fallen by this share of the ranks' growth. Files that ranks map (Arrow, safetensors)
count in each rank, but take nothing from the memory left."""

OLD_SECONDS = 60.0
"""A sample comes about every 5 s: an older one does not show the present state."""


class Room(NamedTuple):
    """Memory that the ranks of a node may use. `group` is the path of the control group; it is empty for the
    machine."""

    group: str
    total: int
    free: int

    @property
    def is_scarce(self) -> bool:
        return self.free < min(FREE_SHARE * self.total, ROOM_BYTES)

    def __str__(self) -> str:
        whose = f" of its control group {self.group}" if self.group else ""
        return f"{in_bytes(self.free)} of {in_bytes(self.total)}{whose} are free"


def detect(run: RunState, now: float) -> Iterator[Finding]:
    memory = run.memory_of("memory-climbing")
    if run.quiet or abs(now - memory.get("at", -1e9)) < EVERY_SECONDS:
        return
    memory["at"] = now
    living: Dict[Optional[str], List[RankState]] = {}
    for rank in run.ranks.values():
        if rank.alive:
            living.setdefault(rank.node, []).append(rank)
    for name, node in run.nodes.items():
        rooms = _rooms(node) if node.sample_at is not None and now - node.sample_at <= OLD_SECONDS else []
        if not rooms:
            continue
        scarce = min((room for room in rooms if room.is_scarce), key=lambda r: r.free, default=None)
        if scarce is not None:
            yield _finding(name, f"{scarce} ({scarce.free / scarce.total:.1%}).", "")
            continue
        yield from _falling(node, living.get(name, []), rooms, memory.setdefault("rooms", {}))


def _rooms(node: NodeState) -> List[Room]:
    """The machine's memory and that of its ranks' control groups, as far as the last sample contains it."""
    total, free = node.sample.memory_total_bytes, node.sample.memory_available_bytes
    rooms = [Room("", total, free)] if total is not None and free is not None else []
    for group in node.sample.memory_groups[:8]:
        if group.limit_bytes is not None and group.used_bytes is not None:
            rooms.append(Room(group.path, group.limit_bytes, max(0, group.limit_bytes - group.used_bytes)))
    return [room for room in rooms if room.total > 0]


def _falling(
    node: NodeState,
    ranks: Sequence[RankState],
    rooms: Sequence[Room],
    kept: Dict[Tuple[str, str], Deque[Any]],
) -> Iterator[Finding]:
    """Findings if the memory left falls while all ranks train. It also counts loader workers and other processes,
    which no rank's own memory includes."""
    name = node.name
    if not ranks or any(r.first_step_at is None for r in ranks):
        for key in [key for key in kept if key[0] == name]:
            del kept[key]
        return
    at = node.sample_at or 0.0
    for room in rooms:
        points = kept.setdefault((name, room.group), deque(maxlen=KEPT))
        if not points or at > points[-1][0]:
            points.append((at, room.total - room.free))
    room = min(rooms, key=lambda r: r.free)
    pace = sum(s for s in (_slope(r.memory, GROWTH) for r in ranks) if s is not None)
    falls = _pace(list(kept[name, room.group])[-FALL_POINTS:])
    if pace > 0 and room.free / pace < HORIZON_SECONDS and falls >= FALL_SHARE * pace:
        grow = f"its ranks grow by {in_bytes(int(pace * 3600))} an hour; {room}."
        yield _finding(name, grow, _full_in(room.free / pace))
        return
    for room in rooms:
        pace = _slope(list(kept[name, room.group]), 0.0)
        if pace is not None and pace > 0 and room.free / pace < HORIZON_SECONDS:
            saw = f"what is left falls by {in_bytes(int(pace * 3600))} an hour, its ranks' own memory less; {room}."
            yield _finding(name, saw, _full_in(room.free / pace))
            return


def _full_in(seconds: float) -> str:
    return f"at this pace it is full in {seconds / 60:.0f} minutes"


def _finding(name: str, saw: str, when: str) -> Finding:
    return Finding(
        id="memory-climbing",
        verdict=WARN,
        where=Where(node=name),
        saw=saw,
        expected="memory that stays level after the first minutes",
        why=(when or "next to nothing is left") + "; the kernel then kills a rank.",
        fix="fewer loader workers, nothing kept over steps, a higher limit where a control group's is the nearest;"
        " save before it is full.",
    )


def _pace(points: List[Tuple[float, int]]) -> float:
    """Bytes per second from the first of these samples to the last one; 0.0 if there are too few."""
    if len(points) < FALL_POINTS:
        return 0.0
    return (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])


def _slope(points: List[Tuple[float, int]], growth: float) -> Optional[float]:
    """Bytes per second over the last half of the points. None if memory does not rise steadily, or rises by less than
    the share `growth`, converted to the length of all points."""
    recent = points[len(points) // 2 :]
    if len(recent) < POINTS or recent[-1][0] - recent[0][0] < SPAN_SECONDS / 2:
        return None
    rises = sum(1 for n in range(1, len(recent)) if recent[n][1] > recent[n - 1][1])
    grown = recent[-1][1] - recent[0][1]
    if rises < RISING * (len(recent) - 1) or grown < growth * recent[0][1] / 2:
        return None
    return grown / (recent[-1][0] - recent[0][0])
