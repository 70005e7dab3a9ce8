"""A disk that the run writes to is filling.

## How it is found
Less than 1 GiB is free, or less than 2 % and less than 64 GiB, or fewer than 1,000 inodes are free.

Or free space falls steadily for a quarter of an hour, or with each of four saves, and at this pace the disk is full
before the run ends. Or less space is left than each of the last two saves took. One save alone does not show a pace.

## Why it matters
A save on a full disk is cut off; torch reports it as `unexpected pos`, and the checkpoint before it may be lost. If the
run's own folder is on that disk, its journals and logs stop growing. The ranks then send their heartbeats over a
socket, and the run continues.

## What to do
Free space there, keep fewer checkpoints (save.keep), save only adapters, or save to another disk.

Topic: storage
"""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Any, Deque, Iterator, List, Optional, Tuple

from allranks.core import WARN, Event, Finding, Where
from allranks.core.node_events import Disk
from allranks.monitor.progress import progress_of
from allranks.monitor.run_state import RunState

AFTER = ("saved",)

EVERY_SECONDS = 15.0
LEAST_BYTES = 1 << 30
LEAST_SHARE = 0.02
ROOM_BYTES = 64 << 30
"""Two percent of 200 TiB are enough: 64 GiB hold several checkpoints of an adapter with its optimizer. If a run writes
more, its pace shows that."""

LEAST_INODES = 1000
FULL_BYTES = 4096
"""Less than a page: not even one more line fits."""

DISKS = 16
OLD_SECONDS = 60.0
"""A sample comes about every 5 s: an older one does not show the present state."""

POINT_SECONDS = 60.0
POINTS = 16
"""A quarter of an hour. One save is over by then, even if it writes in the background."""

FALLING = 0.75
"""The share of the intervals between points in which free space must fall. The pace is the median over the intervals,
so that a single save counts for little."""

ROOMY_SHARE = 0.5
"""If more than half of a disk is free, its pace is ignored: the pace of the first minutes says little about the last
ones."""

FULL_SAVES = 2
PACE_SAVES = 4
"""After each of this many saves in a row, less space must be free than before. If old checkpoints are removed, only
the first few saves reduce the free space: `save.keep` is 3 by default."""


class Level:
    """The most free space since a save, after old checkpoints were removed."""

    def __init__(self, step: Any, told_at: float, at: float, free: int) -> None:
        self.step, self.told_at, self.at, self.free = step, told_at, at, free


class History:
    """One disk of one node: its free space by the minute, and after each of the last saves."""

    def __init__(self) -> None:
        self.points: Deque[Tuple[float, int]] = deque(maxlen=POINTS)
        self.levels: Deque[Level] = deque(maxlen=PACE_SAVES + 1)

    def take(self, at: float, free: int, saved: Tuple[Any, float], is_saving: bool) -> None:
        """`saved`: the step of the last save, and when the last rank reported its end."""
        if not is_saving and (not self.points or at - self.points[-1][0] >= POINT_SECONDS):
            self.points.append((at, free))
        step, told_at = saved
        last = self.levels[-1] if self.levels else None
        if last is not None and last.told_at == told_at:
            last.free = max(last.free, free)
        elif last is None or at > told_at:
            if last is not None and last.step == step:  # another rank's part of the same save
                self.levels.pop()
            self.levels.append(Level(step, told_at, at, free))

    def steady(self) -> float:
        """Bytes per second by which free space falls steadily; 0.0 if it does not."""
        points = list(self.points)
        pairs = [(points[n - 1], points[n]) for n in range(1, len(points))]
        paces = [(a[1] - b[1]) / (b[0] - a[0]) for a, b in pairs]
        falls = sum(pace > 0 for pace in paces)
        return median(paces) if len(paces) >= POINTS - 1 and falls >= FALLING * len(paces) else 0.0

    def saves(self) -> List[int]:
        """The bytes that each of the last saves took, newest first, back to the first save after which free space did
        not shrink."""
        levels, found = list(self.levels), []
        for before, after in zip(levels[-2::-1], levels[::-1]):
            if after.free >= before.free:
                break
            found.append(before.free - after.free)
        return found


def after(run: RunState, event: Event) -> Iterator[Finding]:
    run.memory_of("disk-filling")["saved"] = (event.payload.step, run.arrived)
    return iter(())


def detect(run: RunState, now: float) -> Iterator[Finding]:
    memory = run.memory_of("disk-filling")
    if run.quiet or abs(now - memory.get("at", -1e9)) < EVERY_SECONDS:
        return
    memory["at"] = now
    left = progress_of(run, now).seconds_left if any(n.sample_at for n in run.nodes.values()) else None
    saved, known = memory.get("saved", (None, -1.0)), memory.setdefault("disks", {})
    is_saving = any(rank.phase == "saving" for rank in run.ranks.values())
    for name, node in run.nodes.items():
        if node.sample_at is None or now - node.sample_at > OLD_SECONDS:
            continue
        for disk in node.sample.disks[:DISKS]:
            kept = known.setdefault((name, disk.path), History())
            if disk.free_bytes is not None:
                kept.take(node.sample_at, disk.free_bytes, saved, is_saving)
            reason = _reason(kept, disk, left)
            if reason:
                yield Finding(
                    id="disk-filling",
                    verdict=WARN,
                    where=Where(node=name, file=disk.path),
                    saw=reason,
                    expected="room for the checkpoints to come",
                    why="a save on a full disk is cut off, and its checkpoint is lost.",
                    fix="free space there, keep fewer checkpoints, or save elsewhere.",
                )


def _reason(kept: History, disk: Disk, left: Optional[float]) -> str:
    free, total = disk.free_bytes, disk.total_bytes or 0
    if free is not None and free < FULL_BYTES and total:
        return f"it is full: {free} bytes of {total / 2**30:.2f} GiB are free."
    if disk.free_inodes == 0:
        return "it is full: no inode is free."
    if free is not None and _scarce(free, total):
        return f"{free / 2**30:.2f} GiB of {total / 2**30:.1f} GiB are free."
    if disk.free_inodes is not None and disk.free_inodes < LEAST_INODES:
        return f"{disk.free_inodes} inodes are free."
    if free is None or not total or left == 0:
        return ""
    saves = kept.saves()
    if len(saves) >= FULL_SAVES and free < min(saves[:FULL_SAVES]):
        took = min(saves[:FULL_SAVES])
        return f"{free / 2**30:.2f} GiB are free, and each of the last saves took {took / 2**30:.2f}."
    pace = kept.steady()
    if len(saves) >= PACE_SAVES:
        pace = max(pace, min(saves) * len(saves) / (kept.levels[-1].at - kept.levels[0].at))
    if left is not None and pace > 0 and free / pace < left and free < ROOMY_SHARE * total:
        return (
            f"it is full in {free / pace / 60:.0f} minutes at this pace; the run needs {left / 60:.0f} more."
        )
    return ""


def _scarce(free: int, total: int) -> bool:
    """A small disk is judged by its share alone."""
    return free < min(LEAST_SHARE * total, ROOM_BYTES) or (free < LEAST_BYTES and total > 2 * LEAST_BYTES)
