"""The nodes' clock offsets, when the watcher itself heard nobody, and how late living nodes and ranks have been."""

from __future__ import annotations

from collections import deque
from typing import Deque, Optional, Tuple

CLOCK_SECONDS = 30
"""The last seconds in which a node was heard that count for its clock: more than a burst of late messages lasts. A
clock that is set back is noticed after as many."""


class NodeClock:
    """How far a node's clock is behind the watcher's: the smallest difference in the last `CLOCK_SECONDS` seconds in
    which it was heard, since a message can be late but not early. A silence does not count: a message after it may have
    waited as long."""

    def __init__(self) -> None:
        self._minima: Deque[Tuple[int, float]] = deque(maxlen=CLOCK_SECONDS)
        self._before = float("inf")

    def offset(self, told: float, received: float) -> float:
        """Takes a message that was sent at `told` by the node's clock; returns what to add to the node's times."""
        second, late = int(received), received - told
        if self._minima and self._minima[-1][0] == second:
            self._minima[-1] = (second, min(late, self._minima[-1][1]))
        else:
            self._minima.append((second, late))
            self._before = min((m for _, m in list(self._minima)[:-1]), default=float("inf"))
        return min(self._before, self._minima[-1][1])


DEAF_SECONDS = 2.0
"""Every supervisor sends a sign of life each second: a watcher that hears nobody for two seconds was away."""


class Ears:
    """When the watcher last heard nobody at all: that time does not count as anybody's silence."""

    def __init__(self) -> None:
        self._heard_at: Optional[float] = None
        self._deaf = (0.0, 0.0)

    def hear(self, at: float) -> None:
        if self._heard_at is not None and at - self._heard_at > DEAF_SECONDS:
            self._deaf = (self._heard_at, at)
        self._heard_at = at

    def silence(self, since: float, at: float) -> float:
        """Seconds between the two times in which others were heard."""
        deaf = min(at, self._deaf[1]) - max(since, self._deaf[0])
        return max(0.0, at - since - max(0.0, deaf))


HALF_LIFE_SECONDS = 600.0
"""The allowance for lateness halves every ten minutes. With the factor of four in `hang_thresholds`, lateness that
comes back within twenty minutes never alarms twice, and one hiccup is forgotten within the hour."""


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
