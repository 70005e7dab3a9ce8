"""Folds long series into bins while they are read, so that 1,000 ranks × 10,000 steps fit in memory.

A bin keeps count, sum, lowest and highest value: a spike of one step is drawn at its full height, even if a pixel
stands for fifty steps. All ranks share the bins' width, which doubles when a series becomes too long. Only the
standard library.
"""

from __future__ import annotations

import math
from array import array
from functools import lru_cache
from operator import add
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

BINS = 384
"""The most bins. A plot is 450 to 1,000 pixels wide, so a bin is two or three pixels."""

LARGEST = 1e100
"""A larger loss has no meaning for a reader, and its square would overflow."""

FURTHEST = 10**9
"""Larger values are not steps or seconds (30 years)."""


LINES = 8
"""Up to so many ranks or nodes, each has its own line in a chart. Above that, the chart shows the spread and the
outliers."""

TOGETHER = 128
"""The number of rows of one rank that are folded together: a thousand ranks hold 30 MiB of them."""


class Bin(NamedTuple):
    """One drawn point: x from `first` to `last` inclusive, the mean, the extremes."""

    first: float
    last: float
    mean: float
    low: float
    high: float


@lru_cache(maxsize=64)
def _zeros(length: int) -> "Tuple[array, array, array, array]":
    """Counts, sums, lows and highs of a column without a value. They are shared, so they must not be changed."""
    return (
        array("L", [0]) * length,
        array("d", [0.0]) * length,
        array("d", [math.inf]) * length,
        array("d", [-math.inf]) * length,
    )


class Column:
    """One quantity of one rank. Values that are not finite numbers are counted in `bad`; None is skipped."""

    __slots__ = ("bad", "counts", "highs", "lows", "own", "sums")

    def __init__(self, length: int):
        """Makes an empty column. All columns of quantities that no rank reports share their zeros, and so use no
        memory."""
        self.counts, self.sums, self.lows, self.highs = _zeros(length)
        self.bad: Dict[int, int] = {}
        self.own = False

    def _take(self) -> None:
        """Copies the shared zeros before the first value is written."""
        self.own = True
        self.counts, self.sums, self.lows, self.highs = (
            self.counts[:],
            self.sums[:],
            self.lows[:],
            self.highs[:],
        )

    def put(self, place: int, values: Sequence[Any]) -> None:
        if values[0] is None and values.count(None) == len(values):
            return
        try:
            total = sum(values)
            low, high = min(values), max(values)
            if math.isfinite(total) and low > -LARGEST and high < LARGEST:
                if not self.own:
                    self._take()
                self.counts[place] += len(values)
                self.sums[place] += total
                if low < self.lows[place]:
                    self.lows[place] = low
                if high > self.highs[place]:
                    self.highs[place] = high
                return
        except (TypeError, OverflowError):
            pass
        self._put_one_by_one(place, values)

    def _put_one_by_one(self, place: int, values: Sequence[Any]) -> None:
        for value in values:
            if value is None:
                continue
            try:
                fine = not isinstance(value, str) and math.isfinite(value) and abs(value) < LARGEST
            except (TypeError, OverflowError):
                fine = False
            if fine:
                self.put(place, (float(value),))
            else:
                self.bad[place] = self.bad.get(place, 0) + 1

    def halve(self) -> None:
        """Joins each two neighbouring bins. The second half becomes empty."""
        bad: Dict[int, int] = {}
        for place, amount in self.bad.items():
            bad[place // 2] = bad.get(place // 2, 0) + amount
        self.bad = bad
        if not self.own:
            return
        length = len(self.counts)
        half = length - length // 2
        self.counts = array("L", map(add, self.counts[::2], self.counts[1::2])) + array("L", [0]) * half
        self.sums = array("d", map(add, self.sums[::2], self.sums[1::2])) + array("d", [0.0]) * half
        self.lows = array("d", map(min, self.lows[::2], self.lows[1::2])) + array("d", [math.inf]) * half
        self.highs = array("d", map(max, self.highs[::2], self.highs[1::2])) + array("d", [-math.inf]) * half

    def cut(self, keep: int) -> None:
        """Empties the bins from `keep` on."""
        self.bad = {place: amount for place, amount in self.bad.items() if place < keep}
        if self.own:
            for values, zeros in zip(
                (self.counts, self.sums, self.lows, self.highs), _zeros(len(self.counts))
            ):
                values[keep:] = zeros[keep:]

    def mean(self, place: int) -> Optional[float]:
        return self.sums[place] / self.counts[place] if self.counts[place] else None

    def average(self) -> Optional[float]:
        amount = sum(self.counts)
        return math.fsum(self.sums) / amount if amount else None

    def highest(self) -> Optional[float]:
        found = max(self.highs)
        return found if math.isfinite(found) else None


class Series:
    """Quantities of many ranks over one axis (steps, or seconds since the start)."""

    def __init__(self, names: Sequence[str], bins: int = BINS):
        self.names = tuple(names)
        self.bins = bins - bins % 2
        self.width = 1
        self.used = 0
        self.lowest, self.highest = float(FURTHEST), 0.0
        self.ranks: Dict[int, Tuple[Column, ...]] = {}
        self.waiting: Dict[int, List[Any]] = {}

    def put(self, rank: int, x: float, values: Sequence[Any]) -> None:
        """Takes one row, with its values in the order of the names."""
        self.put_rows(rank, [(x, *values)])

    def put_rows(self, rank: int, rows: Sequence[Any]) -> None:
        """Takes rows `(x, value, …)`. They are kept until there are enough to fold them together, which is ten times
        faster.

        A row whose x is not a number from 0 to `FURTHEST` is skipped.
        """
        held = self.waiting.setdefault(rank, [])
        held += rows
        if len(held) >= TOGETHER:
            self.waiting[rank] = []
            self._fold(rank, held)

    def settle(self) -> None:
        """Folds the waiting rows. Every reading method calls it first."""
        waiting, self.waiting = self.waiting, {}
        for rank, rows in waiting.items():
            self._fold(rank, rows)

    def _fold(self, rank: int, rows: List[Any]) -> None:
        rows = _even(rows, len(self.names) + 1)
        if not rows:
            return
        by_column = list(zip(*rows))
        xs = by_column[0]
        bottom, top = min(xs), max(xs)
        while top >= self.bins * self.width:
            self._double()
        self.lowest, self.highest = min(self.lowest, bottom), max(self.highest, top)
        width = self.width
        self.used = max(self.used, int(top) // width + 1)
        columns = self.ranks.get(rank)
        if columns is None:
            columns = self.ranks[rank] = tuple(Column(self.bins) for _ in self.names)
        places = [int(x) // width for x in xs]
        begin = 0
        for end in range(1, len(places) + 1):
            if end == len(places) or places[end] != places[begin]:
                for column, values in zip(columns, by_column[1:]):
                    column.put(places[begin], values[begin:end])
                begin = end

    def _double(self) -> None:
        self.width *= 2
        self.used = (self.used + 1) // 2
        for columns in self.ranks.values():
            for column in columns:
                column.halve()

    def cut(self, x: float) -> None:
        """Removes the values after `x`. The bin that contains `x` stays whole."""
        self.settle()
        keep = max(0, int(x) // self.width + 1)
        if keep >= self.used:
            return
        self.used, self.highest = keep, min(self.highest, max(x, 0.0))
        for columns in self.ranks.values():
            for column in columns:
                column.cut(keep)

    # ---- reading ----

    def column(self, rank: int, name: str) -> Optional[Column]:
        self.settle()
        columns = self.ranks.get(rank)
        return None if columns is None else columns[self.names.index(name)]

    def reporting(self, name: str) -> List[int]:
        """The ranks that have at least one value of this quantity, or one that is not a finite number."""
        self.settle()
        place = self.names.index(name)
        return sorted(r for r, c in self.ranks.items() if c[place].bad or any(c[place].counts))

    def points(self, rank: int, name: str) -> List[Bin]:
        """The values of one rank, bin by bin. Bins without a value are left out."""
        column = self.column(rank, name)
        if column is None:
            return []
        return [
            Bin(*self.edges(i), self._mean(column, i), column.lows[i], column.highs[i])
            for i in range(self.used)
            if column.counts[i]
        ]

    def joined(self, ranks: Iterable[int], name: str) -> List[Bin]:
        """The mean of the ranks' means, with the lowest and highest value of any of them."""
        columns = [c for c in (self.column(rank, name) for rank in ranks) if c is not None]
        found = []
        for i in range(self.used):
            means = [self._mean(c, i) for c in columns if c.counts[i]]
            if means:
                low = min(c.lows[i] for c in columns)
                high = max(c.highs[i] for c in columns)
                found.append(Bin(*self.edges(i), math.fsum(means) / len(means), low, high))
        return found

    def bands(self, ranks: Iterable[int], name: str) -> List[Dict[str, float]]:
        """The spread of each bin over the ranks' means: x, p5, p50, p95, and the ranks at both ends."""
        pairs = [(rank, self.column(rank, name)) for rank in ranks]
        columns = [(rank, c) for rank, c in pairs if c is not None]
        found = []
        for i in range(self.used):
            means = sorted((self._mean(c, i), rank) for rank, c in columns if c.counts[i])
            if not means:
                continue
            first, last = self.edges(i)
            found.append(
                {
                    "first": first,
                    "last": last,
                    "p5": quantile([m for m, _ in means], 0.05),
                    "p50": quantile([m for m, _ in means], 0.5),
                    "p95": quantile([m for m, _ in means], 0.95),
                    "low": means[0][0],
                    "low_rank": means[0][1],
                    "high": means[-1][0],
                    "high_rank": means[-1][1],
                }
            )
        return found

    def bad(self, ranks: Iterable[int], name: str) -> List[Tuple[float, float, int]]:
        """The values that were not finite numbers: first x, last x, count."""
        amounts: Dict[int, int] = {}
        for column in (self.column(rank, name) for rank in ranks):
            for place, amount in (column.bad if column is not None else {}).items():
                amounts[place] = amounts.get(place, 0) + amount
        return [(*self.edges(i), amount) for i, amount in sorted(amounts.items())]

    def edges(self, place: int) -> Tuple[int, int]:
        """The bin's first and last x, limited to the values that occurred."""
        first = place * self.width
        return max(first, int(self.lowest)), min(first + self.width - 1, int(self.highest))

    @staticmethod
    def _mean(column: Column, place: int) -> float:
        return column.sums[place] / column.counts[place]


def _even(rows: List[Any], length: int) -> List[Any]:
    """The rows that begin with a place on the axis, all with the same length (short ones are filled with None)."""
    try:
        firsts = [row[0] for row in rows]
        inside = math.isfinite(sum(firsts)) and min(firsts) >= 0 and max(firsts) < FURTHEST
        if inside and all(len(row) == length for row in rows):
            return rows
    except (TypeError, KeyError, IndexError, OverflowError, ValueError):
        pass
    fitting = [row for row in rows if _fits(row)]
    return [(*row[:length], *[None] * (length - len(row))) for row in fitting]


def _fits(row: Any) -> bool:
    if not isinstance(row, (list, tuple)) or not row:
        return False
    x = row[0]
    return isinstance(x, (int, float)) and not isinstance(x, bool) and 0 <= x < FURTHEST


def quantile(ordered: Sequence[float], part: float) -> float:
    """Linear interpolation between the two nearest of the ordered values (numpy's default)."""
    place = part * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values: Iterable[float]) -> Optional[float]:
    ordered = sorted(values)
    return quantile(ordered, 0.5) if ordered else None


def outliers(by_rank: Dict[int, float], most: int = 6) -> List[int]:
    """The ranks far above the others, worst first: more than 10 % and 5 median absolute deviations above the median.

    10 %: "Real stragglers were about 10 % slow" (Greyhound). With 5 deviations, ranks with normal noise are not
    reported.
    """
    if len(by_rank) < 3:
        return []
    middle = median(by_rank.values()) or 0.0
    spread = median(abs(v - middle) for v in by_rank.values()) or 0.0
    limit = middle + max(0.1 * abs(middle), 5 * spread)
    above = [rank for rank, value in by_rank.items() if value > limit]
    return sorted(above, key=lambda rank: (-by_rank[rank], rank))[:most]


def typical(series: Series, rank: int, name: str) -> Optional[float]:
    """The median of the bins' means, so that the first step's warm-up has no influence."""
    return median(point.mean for point in series.points(rank, name))


def flat(points: List[Bin]) -> List[List[float]]:
    return [list(point) for point in points]
