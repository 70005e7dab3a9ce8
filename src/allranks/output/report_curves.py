"""The curves of the report's charts, from the series of all ranks. Only the standard library."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from allranks.output.report_series import LINES, Series, flat, outliers, typical


def one_line(series: Series, name: str) -> Dict[str, Any]:
    """The mean of the ranks that report a quantity."""
    ranks = series.reporting(name)
    return {
        "ranks": ranks,
        "points": flat(series.joined(ranks, name)),
        "bad": [list(b) for b in series.bad(ranks, name)],
        "width": series.width,
    }


def by_rank(series: Series, name: str) -> Dict[str, Any]:
    """A line for each rank; of many ranks their spread, and lines for the outliers."""
    ranks = series.reporting(name)
    middles = {rank: typical(series, rank, name) for rank in ranks}
    far = outliers({rank: value for rank, value in middles.items() if value is not None})
    drawn = ranks if len(ranks) <= LINES else far
    return {
        "ranks": ranks,
        "lines": {str(rank): flat(series.points(rank, name)) for rank in drawn},
        "bands": [] if len(ranks) <= LINES else series.bands(ranks, name),
        "outliers": far,
        "width": series.width,
    }


def tokens(steps: Series) -> List[List[float]]:
    """Tokens per second of all ranks together, bin by bin: their sum divided by the mean rank's time."""
    found = []
    for place, amount, spent in _tokens_and_seconds(steps):
        if spent > 0:
            rate = amount / spent
            first, last = steps.edges(place)
            found.append([first, last, rate, rate, rate])
    return found


def tokens_per_second(steps: Series) -> "float | None":
    """The same over the whole training. The bins are summed, because not every rank need be in each of them: another
    attempt may have fewer ranks."""
    found = _tokens_and_seconds(steps)
    amount, spent = sum(one[1] for one in found), sum(one[2] for one in found)
    return amount / spent if amount and spent > 0 else None


def _tokens_and_seconds(steps: Series) -> List[Tuple[int, float, float]]:
    """(bin, tokens of all ranks in it, the mean rank's seconds)."""
    pairs = [(steps.column(r, "tokens"), steps.column(r, "seconds")) for r in steps.reporting("tokens")]
    found = []
    for i in range(steps.used):
        there = [(t, s) for t, s in pairs if t is not None and s is not None and t.counts[i] and s.counts[i]]
        if there:
            spent = sum(s.sums[i] for _, s in there) / len(there)
            found.append((i, sum(t.sums[i] for t, _ in there), spent))
    return found
