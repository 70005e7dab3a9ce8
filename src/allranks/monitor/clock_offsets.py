"""The clock offsets of the nodes, the time in which the watcher itself heard nobody, and the lateness of living nodes
and ranks."""

from __future__ import annotations

from collections import deque
from typing import Deque, Optional, Tuple

CLOCK_SECONDS = 30
"""The window for a node's clock offset, in seconds. It is longer than a burst of late messages lasts. If a clock is
set back, the offset is right again after this time."""


class NodeClock:
    """Measures how far a node's clock is behind the watcher's: the smallest difference in the last `CLOCK_SECONDS`
    seconds in which the node was heard, since a message can be late but not early. A silence does not count, because
    the message after it may have waited as long."""

    def __init__(self) -> None:
        self._minima: Deque[Tuple[int, float]] = deque(maxlen=CLOCK_SECONDS)
        self._before = float("inf")

    def offset(self, told: float, received: float) -> float:
        """Takes a message that the node sent at `told` by its own clock; returns the seconds to add to the node's
        times."""
        second, late = int(received), received - told
        if self._minima and self._minima[-1][0] == second:
            self._minima[-1] = (second, min(late, self._minima[-1][1]))
        else:
            self._minima.append((second, late))
            self._before = min((m for _, m in list(self._minima)[:-1]), default=float("inf"))
        return min(self._before, self._minima[-1][1])


DEAF_SECONDS = 2.0
"""Every supervisor sends a sign of life each second. If the watcher hears nobody for two seconds, the watcher itself
was away."""


class Ears:
    """Remembers when the watcher last heard nobody at all, so that this time does not count as a node's or rank's
    silence."""

    def __init__(self) -> None:
        self._heard_at: Optional[float] = None
        self._deaf = (0.0, 0.0)

    def hear(self, at: float) -> None:
        if self._heard_at is not None and at - self._heard_at > DEAF_SECONDS:
            self._deaf = (self._heard_at, at)
        self._heard_at = at

    def silence(self, since: float, at: float) -> float:
        """Seconds from `since` to `at`, without the time in which the watcher heard nobody."""
        deaf = min(at, self._deaf[1]) - max(since, self._deaf[0])
        return max(0.0, at - since - max(0.0, deaf))


HALF_LIFE_SECONDS = 600.0
"""The allowance for lateness halves every ten minutes. With the factor of four in `hang_thresholds`, lateness that
comes back within twenty minutes does not raise a second alarm, and a single late message is forgotten within the
hour."""


class Lateness:
    """The longest silence of a living node or rank; it fades with time."""

    def __init__(self, most: float) -> None:
        """A silence counts for at most `most` seconds."""
        self.most, self._seconds, self._at = most, 0.0, 0.0

    def add(self, seconds: float, at: float) -> None:
        seconds = min(seconds, self.most)
        if seconds > self.of(at):
            self._seconds, self._at = seconds, at

    def of(self, now: float) -> float:
        return self._seconds * 0.5 ** (max(0.0, now - self._at) / HALF_LIFE_SECONDS)
