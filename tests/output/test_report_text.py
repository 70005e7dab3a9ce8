"""Words and numbers for people, and what hostile text becomes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.output import report_text as text


def test_a_long_text_is_cut_and_says_so():
    assert text.readable("x" * 5000, longest=10) == "x" * 10 + "… (4,990 more characters)"


@settings(max_examples=40, deadline=None)
@given(st.text())
def test_escaped_text_holds_no_markup(said):
    shown = text.escape(said)
    assert not set(shown) & set("<>\"'")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 s"),
        (0.2123, "0.212 s"),
        (3.14159, "3.14 s"),
        (59.97, "1 min"),
        (3725, "1 h 02 min"),
        (200_000, "2 d 7 h"),
        (None, "—"),
        (math.nan, "—"),
        ("soon", "—"),
    ],
)
def test_durations(value, shown):
    assert text.seconds(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (116_064, "113 KiB"),
        (760 * 2**20, "760 MiB"),
        (2**30, "1.00 GiB"),
        (1.342e12, "1.22 TiB"),
        (10**400, "—"),
    ],
)
def test_sizes(value, shown):
    assert text.size(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (6.942123, "6.942"),
        (1e-5, "1.00e-05"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (12345.6, "12,346"),
        (True, "—"),
    ],
)
def test_short_numbers(value, shown):
    assert text.short(value) == shown


def test_plain_numbers_are_no_bools_and_no_infinities():
    assert [text.number(v) for v in (True, "1", math.inf, 10**400, 3, 2.5)] == [
        None,
        None,
        None,
        None,
        3.0,
        2.5,
    ]
