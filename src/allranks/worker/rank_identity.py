"""Who this rank is and where it writes: read once from the environment, every value checked."""

from __future__ import annotations

import math
import os

TYPE_CHECKING = False  # typing costs a start 5 ms; type checkers take this for theirs
if TYPE_CHECKING:
    from typing import Mapping, Optional, Tuple

MARK = "ALLRANKS_RANK_PROCESS"
"""`pid:start time` of the process that is the rank. A child inherits it, sees that it is another, and stays out."""

BEAT_SECONDS = 1.0
LARGEST_RANK = 10_000_000


class RankIdentity:
    """This rank's names, numbers and folders. A folder is None if the environment names none."""

    def __init__(self, environment: Mapping[str, str], rank: int, local_rank: int):
        self.run_id = environment["ALLRANKS_RUN_ID"][:200]
        self.node: Optional[str] = environment.get("ALLRANKS_NODE", "")[:200] or None
        self.rank, self.local_rank = rank, local_rank
        self.world_size = whole(environment.get("WORLD_SIZE"), LARGEST_RANK)
        self.beat_seconds = seconds(environment.get("ALLRANKS_BEAT_SECONDS"))
        self.ranks = environment.get("ALLRANKS_RANKS_DIR") or None
        self.logs = environment.get("ALLRANKS_LOGS_DIR") or None
        self.lines = environment.get("ALLRANKS_LINES_SOCKET", "")[:100] or None
        self.stacks = environment.get("ALLRANKS_STACKS_DIR") or None
        self.pid, self.start_time = identity()

    @property
    def mark(self) -> str:
        return f"{self.pid}:{self.start_time}"


def here(environment: Mapping[str, str]) -> Optional[RankIdentity]:
    """The place of this process, None if it is not a rank of a run of allranks: torchrun itself, a child of a rank."""
    if not environment.get("ALLRANKS_RUN_ID"):
        return None
    rank = whole(environment.get("RANK"), LARGEST_RANK)
    local_rank = whole(environment.get("LOCAL_RANK"), LARGEST_RANK)
    if rank is None or local_rank is None:
        return None
    place = RankIdentity(environment, rank, local_rank)
    if (environment.get(MARK) or place.mark) != place.mark:
        return None
    return place


def whole(text: Optional[str], below: int) -> Optional[int]:
    """A plain decimal number from 0, None for anything else (` 1`, `1_0` and `²` are something else)."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 9:
        return None
    return int(text) if int(text) < below else None


def seconds(text: Optional[str]) -> float:
    """The time between beats: the requested one, within 0.05 s and 60 s; BEAT_SECONDS if it is not a number."""
    try:
        value = float(text) if text else BEAT_SECONDS
    except ValueError:
        return BEAT_SECONDS
    return min(60.0, max(0.05, value)) if math.isfinite(value) else BEAT_SECONDS


def identity() -> Tuple[int, int]:
    """This process's pid and start time (field 22 of /proc/self/stat, clock ticks; 0 if unreadable)."""
    try:
        with open("/proc/self/stat", "rb") as stat:
            # The name in parentheses may hold anything, also spaces and parentheses.
            return os.getpid(), int(stat.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return os.getpid(), 0
