"""How one rank reads the base model: bytes, time, retries. From its heartbeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from allranks.core.rank_events import BASE_BYTES, Doing


@dataclass(eq=False)
class BaseReading:
    """One rank's reading. `seconds` counts only the time in which it reads: with transformers 4 it stops after each
    file and waits for the other ranks. `moved_at` is by the watcher's clock."""

    at: float
    begun: float
    done: float
    total: float
    moved_at: float
    seconds: float = 0.0
    source: str = ""
    retries: int = 0
    error: str = ""
    is_over: bool = False


def note(
    known: Optional[BaseReading], doing: Optional[Doing], at: float, heard: float
) -> Optional[BaseReading]:
    """The reading after a heartbeat of time `at`. None as long as the rank has read nothing."""
    if (
        doing is None
        or doing.what != BASE_BYTES
        or doing.done is None
        or not 0 <= doing.done <= (doing.total or 0)
    ):
        if known is not None and not known.is_over:
            known.seconds += max(0.0, at - known.at)
            known.done, known.is_over, known.at = known.total, True, at
        return known
    if known is None or doing.done < known.begun or (doing.done < known.done and not known.is_over):
        known = BaseReading(at, doing.done, doing.done, doing.total or 0.0, heard)
    elif not known.is_over:
        known.seconds += max(0.0, at - known.at)
    if doing.done != known.done:
        known.moved_at = heard
    known.at, known.done, known.total, known.is_over = at, doing.done, doing.total or 0.0, False
    known.source, known.retries, known.error = doing.source, doing.retries, doing.error or known.error
    return known
