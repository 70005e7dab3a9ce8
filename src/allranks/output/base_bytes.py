"""How much of the base model the ranks have read, in bytes: the total, the rate, and the time left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.core.rank_events import BASE_BYTES
from allranks.output.report_text import compact_seconds, size

TOO_SHORT_SECONDS = 2.0
"""A rate needs at least this time, because heartbeats are a second apart."""


class BaseBytes:
    """The bytes of each rank's own part, from its heartbeats."""

    def __init__(self) -> None:
        self._first: dict[int, tuple[float, int]] = {}
        self._now: dict[int, tuple[float, int, int]] = {}
        self._cached: set[int] = set()

    def note(self, rank: int, at: float, progress: Any) -> None:
        """Takes the `progress` of a heartbeat. A smaller number than before begins another model."""
        if not isinstance(progress, Mapping) or progress.get("what") != BASE_BYTES:
            self._first.pop(rank, None)
            self._now.pop(rank, None)
            return
        done, total = progress.get("done"), progress.get("total")
        if type(done) is not int or type(total) is not int or not 0 <= done <= total:
            return
        before = self._now.get(rank)
        if before is None or done < before[1] or total != before[2]:
            self._first[rank] = (at, done)
        self._now[rank] = (at, done, total)
        (self._cached.add if progress.get("source") == "cache" else self._cached.discard)(rank)

    def text(self) -> str:
        """`1.20 of 12.4 GiB at 310 MiB/s, 0:38 left`; empty while no rank reads."""
        if not self._now:
            return ""
        done, total = (sum(one[place] for one in self._now.values()) for place in (1, 2))
        text = f"{size(done)} of {size(total)}"
        if self._cached.issuperset(self._now):
            text += " from the nodes' caches"
        rates = {
            rank: (now - begun) / (at - began)
            for rank, (at, now, _) in self._now.items()
            for began, begun in (self._first[rank],)
            if at - began >= TOO_SHORT_SECONDS
        }
        if not rates or len(rates) < len(self._now):
            return text
        text += f" at {size(sum(rates.values()))}/s"
        if min(rates.values()) <= 0:
            return text
        left = max((self._now[rank][2] - self._now[rank][1]) / rate for rank, rate in rates.items())
        return f"{text}, {compact_seconds(left)} left" if done < total else text
