"""Loss, gradient norm, learning rate, step time and tokens over the steps, in bounded memory and as changes.

A bin stands for one step until there are more than `BINS` of them; then each two neighbours become one. Every bin
keeps the lowest and the highest value beside the mean, so that no spike is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

BINS = 16_384
FURTHEST = 10**9
LARGEST = 1e100

(
    LOSS,
    LOSS_N,
    LOSS_LOW,
    LOSS_HIGH,
    NORM,
    NORM_N,
    NORM_HIGH,
    RATE,
    SECONDS,
    SECONDS_N,
    SLOW,
    SLOW_RANK,
    WAIT,
) = range(13)
TOKENS, AT, BAD, RANKS = 13, 14, 15, 16
SUMS = (LOSS, LOSS_N, NORM, NORM_N, SECONDS, SECONDS_N, WAIT, TOKENS, BAD)
SMALLEST, GREATEST = float("inf"), float("-inf")
EMPTY = (0.0, 0, SMALLEST, GREATEST, 0.0, 0, GREATEST, None, 0.0, 0, GREATEST, -1, 0.0, 0.0, None, 0, 0)
"""A bin without a value: sums, counts, extremes, the newest learning rate, when its last step ended, bad losses, the
number of ranks that reported step times."""

SILENT_SECONDS = 60.0
"""A rank that has reported no step for so long, while others have, does not train any longer."""

NUMBERS = (int, float)


def fine(value: Any) -> bool:
    """Whether it is a finite number of a sensible size. A comparison with NaN is false."""
    return value.__class__ in NUMBERS and -LARGEST < value < LARGEST


class StepCurves:
    """`put` takes the rows of a rank; `columns` returns the bins from a given one on. `dirty` is the first bin that
    has changed since it was last reset."""

    def __init__(self, bins: int = BINS):
        self.bins, self.width = bins, 1
        self.held: list[list[Any]] = []
        self.dirty = 0
        self.newest: dict[int, tuple[int, float]] = {}
        """For each rank that reports step times: the newest bin, and when it was reported."""
        self.at = 0.0
        self.lead: int | None = None
        """The rank that provides the time and the learning rate of each step."""

    def put(self, rank: int, rows: Sequence[Any], at: float) -> None:
        """Takes rows `[step, loss, seconds, data_seconds, tokens, learning_rate, own_seconds, gradient norm]`;
        shorter rows lack the last values. `at`: when the last row was reported, in seconds since the epoch."""
        self.at = max(self.at, at)
        self.lead = rank if self.lead is None else min(self.lead, rank)
        leads = rank == self.lead
        began = at - sum(row[2] for row in rows if len(row) > 2 and fine(row[2])) if leads else 0.0
        for row in rows:
            step: Any = row[0] if row else None
            if step.__class__ is not int or not 0 <= step < FURTHEST:
                continue
            place = step // self.width
            while place >= self.bins:
                self.halve()
                place = step // self.width
            while len(self.held) <= place:
                self.held.append(list(EMPTY))
            held = self.held[place]
            if place < self.dirty:
                self.dirty = place
            values = len(row)
            if values > 1 and row[1] is not None:
                self.put_loss(held, row[1])
            if values > 2 and fine(row[2]):
                self.put_seconds(held, rank, row, values)
                if rank not in self.newest or self.newest[rank][0] != place:
                    held[RANKS] += 1
                self.newest[rank] = (place, at)
                began += row[2]
            if leads:
                held[AT] = began
                if values > 5 and fine(row[5]):
                    held[RATE] = row[5]
            if values > 7 and fine(row[7]):
                held[NORM] += row[7]
                held[NORM_N] += 1
                held[NORM_HIGH] = max(held[NORM_HIGH], row[7])

    def put_loss(self, held: list[Any], loss: Any) -> None:
        if not fine(loss):
            held[BAD] += 1
            return
        held[LOSS] += loss
        held[LOSS_N] += 1
        held[LOSS_LOW] = min(held[LOSS_LOW], loss)
        held[LOSS_HIGH] = max(held[LOSS_HIGH], loss)

    def put_seconds(self, held: list[Any], rank: int, row: Sequence[Any], values: int) -> None:
        seconds = row[2]
        held[SECONDS] += seconds
        held[SECONDS_N] += 1
        if seconds > held[SLOW]:
            held[SLOW], held[SLOW_RANK] = seconds, rank
        if values > 3 and fine(row[3]):
            held[WAIT] += row[3]
        if values > 4 and fine(row[4]):
            held[TOKENS] += row[4]

    def halve(self) -> None:
        """Joins each two neighbouring bins."""
        self.width *= 2
        self.dirty = 0
        joined = []
        for first in range(0, len(self.held), 2):
            pair = self.held[first : first + 2]
            joined.append(merged(*pair) if len(pair) == 2 else pair[0])
        self.held = joined
        self.newest = {rank: (place // 2, at) for rank, (place, at) in self.newest.items()}

    def cut(self, step: int) -> None:
        """Removes the values after a step: a restarted attempt takes those steps again."""
        keep = step // self.width + 1
        self.newest = {rank: (min(place, keep - 1), GREATEST) for rank, (place, _) in self.newest.items()}
        if keep < len(self.held):
            del self.held[keep:]
            self.dirty = min(self.dirty, keep)

    def active(self) -> list[int]:
        """The newest bins of the ranks that train."""
        near, since = len(self.held) - 2, self.at - SILENT_SECONDS
        found = [(place, at) for place, at in self.newest.values() if at > GREATEST]
        return [place for place, at in found if place >= near or at >= since]

    def told(self) -> None:
        """Everything was sent. The newest bin may still grow, and so may those that not every rank has reached."""
        self.dirty = max(0, min([len(self.held) - 1, *self.active()]))

    def columns(self, first: int = 0) -> dict[str, Any]:
        """The bins from `first` to the last, one list per quantity; None stands for no value."""
        held = self.held[first:]
        active = self.active()
        reached = min(active, default=len(self.held))
        ranks = [
            one[RANKS] if place <= reached else max(one[RANKS], len(active))
            for place, one in enumerate(held, first)
        ]
        found: dict[str, Any] = {
            "width": self.width,
            "from": first,
            "at": [None if one[AT] is None else round(one[AT], 3) for one in held],
            "loss": [mean(one, LOSS, LOSS_N) for one in held],
            "learning_rate": [short(one[RATE]) for one in held],
            "seconds": [mean(one, SECONDS, SECONDS_N) for one in held],
            "slowest": [short(one[SLOW]) if one[SECONDS_N] else None for one in held],
            "slowest_rank": [one[SLOW_RANK] if one[SECONDS_N] else None for one in held],
            "waiting": [mean(one, WAIT, SECONDS_N) for one in held],
            "tokens": [
                short(one[TOKENS] * amount / one[SECONDS]) if one[TOKENS] and one[SECONDS] > 0 else None
                for one, amount in zip(held, ranks, strict=True)
            ],
            "grad_norm": [mean(one, NORM, NORM_N) for one in held],
            "bad": [first + place for place, one in enumerate(held) if one[BAD]],
        }
        if self.width > 1:
            found["loss_low"] = [short(one[LOSS_LOW]) if one[LOSS_N] else None for one in held]
            found["loss_high"] = [short(one[LOSS_HIGH]) if one[LOSS_N] else None for one in held]
        return found


def merged(a: list[Any], b: list[Any]) -> list[Any]:
    found = list(a)
    for place in SUMS:
        found[place] = a[place] + b[place]
    found[RANKS] = max(a[RANKS], b[RANKS])
    found[LOSS_LOW] = min(a[LOSS_LOW], b[LOSS_LOW])
    found[LOSS_HIGH] = max(a[LOSS_HIGH], b[LOSS_HIGH])
    found[NORM_HIGH] = max(a[NORM_HIGH], b[NORM_HIGH])
    found[SLOW], found[SLOW_RANK] = max((a[SLOW], a[SLOW_RANK]), (b[SLOW], b[SLOW_RANK]))
    for place in (RATE, AT):
        found[place] = a[place] if b[place] is None else b[place]
    return found


def mean(held: Sequence[Any], total: int, amount: int) -> float | None:
    return short(held[total] / held[amount]) if held[amount] else None


def short(value: Any) -> float | None:
    """Six digits; a pixel cannot show more."""
    return None if value is None else float(f"{value:.6g}")


def newest(columns: Mapping[str, Any], name: str) -> float | None:
    """The last known value of a column."""
    return next((value for value in reversed(columns[name]) if value is not None), None)
