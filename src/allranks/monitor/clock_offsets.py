"""What the watcher knows of time: how far the nodes' clocks are from its own, when it heard nobody itself, and how late
the living were of late."""

from __future__ import annotations

from collections import deque
from typing import Deque, Optional, Tuple

CLOCK_SECONDS = 30
"""Seconds in which a node was heard that count for its clock. More than a burst of late messages lasts; a clock that
is set back is known after as many."""


class NodeClock:
    """How far a node's clock is behind ours: the smallest difference seen in the last `CLOCK_SECONDS` seconds in which
    it was heard, since a message can be late but not early. A silence makes nothing forgotten: what comes after it
    may have waited as long."""

    def __init__(self) -> None:
        self._minima: Deque[Tuple[int, float]] = deque(maxlen=CLOCK_SECONDS)
        self._before = float("inf")

    def offset(self, told: float, received: float) -> float:
        """Takes a message in, told at `told` by the node's clock; what to add to the node's times."""
        second, late = int(received), received - told
        if self._minima and self._minima[-1][0] == second:
            self._minima[-1] = (second, min(late, self._minima[-1][1]))
        else:
            self._minima.append((second, late))
            self._before = min((m for _, m in list(self._minima)[:-1]), default=float("inf"))
        return min(self._before, self._minima[-1][1])


DEAF_SECONDS = 2.0
"""Every supervisor says each second that it lives: who hears nobody for two was away."""


class Ears:
    """When the watcher itself last heard nobody at all: that time says nothing about those it did not hear."""

    def __init__(self) -> None:
        self._heard_at: Optional[float] = None
        self._deaf = (0.0, 0.0)

    def hear(self, at: float) -> None:
        if self._heard_at is not None and at - self._heard_at > DEAF_SECONDS:
            self._deaf = (self._heard_at, at)
        self._heard_at = at

    def silence(self, since: float, at: float) -> float:
        """Seconds between the two in which others were heard; none below zero."""
        deaf = min(at, self._deaf[1]) - max(since, self._deaf[0])
        return max(0.0, at - since - max(0.0, deaf))


HALF_LIFE_SECONDS = 600.0
"""Of what lateness allows, half is gone after ten minutes. With the factor of four that `pace` allows, what comes late
at least every twenty minutes never alarms twice, and one hiccup is forgotten within the hour."""


class Lateness:
    """The longest silence of a living one, fading; one hiccup is not for ever."""

    def __init__(self, most: float) -> None:
        """A silence counts `most` seconds at most."""
        self.most, self._seconds, self._at = most, 0.0, 0.0

    def add(self, seconds: float, at: float) -> None:
        seconds = min(seconds, self.most)
        if seconds > self.of(at):
            self._seconds, self._at = seconds, at

    def of(self, now: float) -> float:
        return self._seconds * 0.5 ** (max(0.0, now - self._at) / HALF_LIFE_SECONDS)
