"""A disk that the run writes to is filling

## What is seen
Less than 1 GiB is free, or less than 2 % and less than 64 GiB, or fewer than 1,000 inodes are, or at the pace of the
last samples the disk is full before the run ends.

## Why it matters
A save on a full disk is cut off; torch reports it as `unexpected pos`, and the checkpoint before it may be gone.

## What to do
Free space there, keep fewer checkpoints (save.keep), save adapters alone, or save to another disk.
"""

from __future__ import annotations

from typing import Iterator, Optional

from allranks.watch.progress import progress_of
from allranks.watch.records import NodeState
from allranks.watch.state import RunState
from allranks.words import WARN, Finding, Where

EVERY_SECONDS = 15.0
LEAST_BYTES = 1 << 30
LEAST_SHARE = 0.02
ROOM_BYTES = 64 << 30
"""Two percent of a storage of 200 TiB are no scarcity: 64 GiB hold several checkpoints of an adapter with its
optimizer. Where a run writes more than that, its pace tells."""

LEAST_INODES = 1000
SPAN_SECONDS = 300.0
POINTS = 10


def look(run: RunState, now: float) -> Iterator[Finding]:
    memory = run.memory_of("disk-filling")
    if run.quiet or abs(now - memory.get("at", -1e9)) < EVERY_SECONDS:
        return
    memory["at"] = now
    left = progress_of(run, now).seconds_left if any(n.disk_free for n in run.nodes.values()) else None
    for name, node in run.nodes.items():
        for disk in _disks(node):
            reason = _reason(node, disk, left)
            if reason:
                yield Finding(
                    id="disk-filling",
                    verdict=WARN,
                    where=Where(node=name, file=str(disk.get("path"))),
                    saw=reason,
                    expected="room for the checkpoints to come",
                    why="a save on a full disk is cut off, and its checkpoint is lost.",
                    fix="free space there, keep fewer checkpoints, or save elsewhere.",
                )


def _disks(node: NodeState) -> list:
    disks = node.sample.get("disks")
    return [d for d in disks if isinstance(d, dict)] if isinstance(disks, list) else []


def _reason(node: NodeState, disk: dict, left: Optional[float]) -> str:
    free, total, inodes = disk.get("free_bytes"), disk.get("total_bytes"), disk.get("free_inodes")
    if isinstance(free, int) and isinstance(total, int) and _scarce(free, total):
        return f"{free / 2**30:.2f} GiB of {total / 2**30:.1f} GiB are free."
    if isinstance(inodes, int) and inodes < LEAST_INODES:
        return f"{inodes} inodes are free."
    points = list(node.disk_free.get(str(disk.get("path")), ()))
    if left is None or len(points) < POINTS or points[-1][0] - points[0][0] < SPAN_SECONDS:
        return ""
    pace = (points[0][1] - points[-1][1]) / (points[-1][0] - points[0][0])
    if pace > 0 and points[-1][1] / pace < left and points[-1][1] < 0.5 * (disk.get("total_bytes") or 0):
        return f"it is full in {points[-1][1] / pace / 60:.0f} minutes at this pace; the run needs {left / 60:.0f}."
    return ""


def _scarce(free: int, total: int) -> bool:
    """A small disk is judged by its share alone."""
    return free < min(LEAST_SHARE * total, ROOM_BYTES) or (free < LEAST_BYTES and total > 2 * LEAST_BYTES)


def _sample(at: float, free: int, total: int = 500 << 30, inodes: int = 10**6) -> dict:
    disk = {"path": "/out", "free_bytes": free, "total_bytes": total, "free_inodes": inodes}
    return {"at": at, "kind": "sample", "node": "a", "data": {"disks": [disk]}}


FIRES = [
    {"events": [_sample(1.0, 500 << 20)], "now": 20.0},
    {"events": [_sample(1.0, 100 << 30, inodes=3)], "now": 20.0},
]
SILENT = [
    {"events": [_sample(1.0, 100 << 30)], "now": 20.0},
    {"events": [_sample(1.0, 3 << 40, total=200 << 40)], "now": 20.0},
    {"events": [], "now": 20.0},
]
