"""Hostile text made safe for a terminal, ranges of names and of numbers, and words with their count."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.core.text import fold, last_line, natural, plural, printable, spans, spelt_out
from allranks.spec.names import expand

OBEYED = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@settings(max_examples=40, deadline=None)
@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(said):
    kept, line = spelt_out(said), printable(said, 30)
    assert all(c in "\n\t" or unicodedata.category(c) not in OBEYED for c in kept)
    assert all(unicodedata.category(c) not in OBEYED for c in line)
    assert len((kept + line).encode("utf-8")) >= len(said)


def test_what_is_replaced_is_shown():
    assert spelt_out("a\x1b[31mb\u202ec\ud800\t\n") == "a\\x1b[31mb\\u202ec\\ud800\t\n"
    assert printable("a\x1b[31mb\u202ec\ud800\t\n") == "a\\x1b[31mb\\u202ec\\ud800\\t\\n"
    assert spelt_out("日本 é\u00a0ß") == printable("日本 é\u00a0ß") == "日本 é\u00a0ß"


def test_one_line_is_cut_with_a_mark():
    assert (printable("x" * 10, 10), printable("x" * 11, 10)) == ("x" * 10, "x" * 10 + "…")


@pytest.mark.parametrize(
    ("said", "last"),
    [
        ("first\n  second  \n\n ----- \n", "second"),
        ("y" * 400, "y" * 300),
        ("\n \n", "it said nothing"),
    ],
)
def test_the_last_line_that_says_something(said, last):
    assert last_line(said, "it said nothing") == last


def test_a_count_has_its_word():
    assert [plural(1, "node"), plural(0, "node"), plural(1200, "entry", "entries")] == [
        "1 node",
        "0 nodes",
        "1,200 entries",
    ]


names = st.from_regex(r"[a-z]{1,3}-?[0-9]{0,3}", fullmatch=True)


@settings(max_examples=40, deadline=None)
@given(st.lists(names, min_size=1, max_size=30))
def test_folded_names_unfold_to_the_same(some):
    assert set(expand(fold(some))) == set(some)


@pytest.mark.parametrize(
    ("some", "folded"),
    [
        ([f"node-{n}" for n in range(30)], "node-[0-29]"),
        (["gpu09", "gpu10", "gpu11", "gpu7"], "gpu[7,09-11]"),
        (["head", "a1.local", "a2.local"], "a[1-2].local,head"),
        (["odd[1]", "odd[2]"], "odd[1],odd[2]"),
    ],
)
def test_folding(some, folded):
    assert fold(some) == folded


def test_natural_order():
    assert sorted(["node-10", "node-2", "head", "node-2a"], key=natural) == [
        "head",
        "node-2",
        "node-2a",
        "node-10",
    ]


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(0, 200)))
def test_spans_hold_each_number_once(some):
    ends = [[int(end) for end in one.split("-")] for one in spans(some).split(",") if one]
    held = [n for low_high in ends for n in range(low_high[0], low_high[-1] + 1)]
    assert held == sorted(some)
    assert all(later[0] > earlier[-1] + 1 for earlier, later in pairwise(ends))
