"""Words and numbers for people, and what hostile text becomes."""

from __future__ import annotations

import math
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.output import report_text as text
from allranks.spec.names import expand
from allranks.spec.names import fold as spec_fold


@settings(max_examples=40, deadline=None)
@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(said):
    shown = text.printable(said)
    assert all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn") for c in shown)
    shown.encode("utf-8")


def test_what_is_replaced_is_shown():
    assert text.printable("a\x1b[31mb\u202ec\ud800") == "a\\x1b[31mb\\u202ec\\ud800"
    assert text.printable("日本 é\u00a0ß") == "日本 é\u00a0ß"


def test_a_long_text_is_cut_and_says_so():
    assert text.printable("x" * 5000, longest=10) == "x" * 10 + "… (4,990 more characters)"


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
        (59.97, "1 min 00 s"),
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


names = st.from_regex(r"[a-z]{1,3}-?[0-9]{0,3}", fullmatch=True)


@settings(max_examples=40, deadline=None)
@given(st.lists(names, min_size=1, max_size=30))
def test_folded_names_unfold_to_the_same(some):
    assert set(expand(text.fold(some))) == set(some)


@pytest.mark.parametrize(
    ("some", "folded"),
    [
        ([f"node-{n}" for n in range(30)], "node-[0-29]"),
        (["gpu09", "gpu10", "gpu11", "gpu7"], "gpu7,gpu[09-11]"),
        (["head", "a1.local", "a2.local"], "a[1-2].local,head"),
        (["odd[1]", "odd[2]"], "odd[1],odd[2]"),
    ],
)
def test_folding(some, folded):
    assert text.fold(some) == folded


def test_folds_as_the_run_file_does():
    some = ["node-0", "node-1", "node-7", "login", "gpu08", "gpu09", "gpu10"]
    assert text.fold(some) == spec_fold(some)


def test_plain_numbers_are_no_bools_and_no_infinities():
    assert [text.number(v) for v in (True, "1", math.inf, 10**400, 3, 2.5)] == [
        None,
        None,
        None,
        None,
        3.0,
        2.5,
    ]
