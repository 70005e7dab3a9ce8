"""Series folded as they are read: nothing that a reader would look for is lost."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.output.report_series import Series, outliers, quantile

rows = st.lists(
    st.tuples(st.integers(0, 5000), st.floats(-1e6, 1e6, allow_nan=False)), min_size=1, max_size=300
)


@settings(max_examples=40, deadline=None)
@given(rows)
def test_extremes_and_sums_survive_any_folding(some):
    series = Series(("v",), bins=16)
    for x, value in some:
        series.put(0, x, (value,))
    points = series.points(0, "v")
    assert len(points) <= 16
    assert min(p.low for p in points) == min(v for _, v in some)
    assert max(p.high for p in points) == max(v for _, v in some)
    column = series.column(0, "v")
    assert column is not None
    assert sum(column.counts) == len(some)
    assert math.isclose(sum(column.sums), math.fsum(v for _, v in some), rel_tol=1e-9, abs_tol=1e-3)
    assert points[0].first == min(x for x, _ in some)
    assert points[-1].last == max(x for x, _ in some)


def test_a_short_run_keeps_every_step():
    series = Series(("v",))
    for step in range(1, 37):
        series.put(0, step, (step * 0.5,))
    assert [(p.first, p.last, p.mean) for p in series.points(0, "v")] == [
        (s, s, s * 0.5) for s in range(1, 37)
    ]


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(anything, max_size=8))
def test_rows_of_anything_never_raise(some):
    series = Series(("a", "b"), bins=8)
    series.put_rows(0, some)
    series.put_rows(0, [[1, 2.0, 3.0]])
    assert series.points(0, "a")
    assert all(math.isfinite(p.mean) for p in series.points(0, "a"))


def test_what_is_no_number_is_counted_and_none_is_not():
    series = Series(("v",))
    for step, value in enumerate([1.0, None, math.nan, math.inf, "x", 10**400, 2.0]):
        series.put(0, step, (value,))
    assert [p.mean for p in series.points(0, "v")] == [1.0, 2.0]
    assert series.bad([0], "v") == [(2, 2, 1), (3, 3, 1), (4, 4, 1), (5, 5, 1)]


def test_bands_name_the_ranks_at_both_ends():
    series = Series(("v",))
    for rank in range(21):
        series.put(rank, 1, (float(rank),))
    (band,) = series.bands(range(21), "v")
    assert (band["p5"], band["p50"], band["p95"]) == (1.0, 10.0, 19.0)
    assert (band["low_rank"], band["high_rank"]) == (0, 20)


def test_the_mean_over_ranks_weighs_ranks_not_rows():
    series = Series(("v",), bins=2)
    series.put_rows(0, [[0, 1.0], [1, 1.0], [2, 1.0]])
    series.put_rows(1, [[3, 4.0]])
    series.put_rows(1, [[0, 2.0]])
    assert [p.mean for p in series.joined([0, 1], "v")] == [1.5, 2.5]


@pytest.mark.parametrize(
    ("by_rank", "found"),
    [
        ({r: 0.2 + r * 1e-4 for r in range(24)}, []),
        ({**{r: 0.2 + r * 1e-4 for r in range(24)}, 13: 0.24}, [13]),
        ({0: 1.0, 1: 9.0}, []),
        ({0: 1.0, 1: 1.0, 2: 9.0, 3: 1.0}, [2]),
    ],
)
def test_outliers_are_named_and_an_even_field_is_silent(by_rank, found):
    assert outliers(by_rank) == found


def test_quantiles_interpolate():
    assert [quantile([1.0, 2.0, 4.0], p) for p in (0, 0.25, 0.5, 1)] == [1.0, 1.5, 2.0, 4.0]
