"""The course of the loss for a sparkline: all of the training, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable

MOST = 512


class LossCourse:
    """Means of equally many losses each. When there are `MOST` of them, each two neighbours become one, and from then
    on a mean is of twice as many losses."""

    def __init__(self) -> None:
        self.width = 1
        self.means: list[float] = []
        self.rest: list[float] = []
        """The losses after the last mean, fewer than `width`."""

    def add(self, losses: Iterable[float]) -> None:
        for loss in losses:
            self.rest.append(loss)
            if len(self.rest) >= self.width:
                self.means.append(mean(self.rest))
                self.rest = []
            if len(self.means) >= MOST:
                pairs = zip(self.means[::2], self.means[1::2], strict=True)
                self.means, self.width = [mean(pair) for pair in pairs], self.width * 2

    def values(self) -> list[float]:
        """The means, and that of the losses after them."""
        return [*self.means, mean(self.rest)] if self.rest else self.means


def mean(values: Iterable[float]) -> float:
    kept = list(values)
    return sum(kept) / len(kept)
