"""Blocks of logs cut with numpy: the same as byte by byte."""

from __future__ import annotations

import sys
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from allranks.cli.log_arrays import cutter
from allranks.diagnose.blocks import Cutter

PLAIN, QUICK = Cutter(), cutter()
HEAD = b"0000-00-00 00:00:00 "
LINES = st.lists(
    st.sampled_from([b"", b"a", b"12 b", HEAD, HEAD + b"x", HEAD[1:] + b"y", bytes(range(32, 256))])
)


def test_the_two_are_different() -> None:
    assert type(QUICK) is not type(PLAIN) and isinstance(QUICK, Cutter)


@given(st.binary(max_size=300))
def test_every_digit_is_0(data: bytes) -> None:
    assert QUICK is not None and QUICK.alike(data) == PLAIN.alike(data)


@given(LINES, st.integers(0, 90))
@example([b"a"] * 80, 0)
def test_each_line_is_the_same_in_any_order(rows: list[bytes], first: int) -> None:
    data = b"\n".join(rows)
    expected = data.split(b"\n")
    for number in sorted(range(len(expected)), key=lambda n: (n != first, n)):
        for one in (PLAIN, QUICK):
            assert one is not None and one.lines(data, len(expected))[number] == expected[number]
    lines = QUICK.lines(data, len(expected)) if QUICK else []
    assert [lines[number] for number in range(len(lines))] == expected == list(lines)


@given(st.lists(st.binary(min_size=3, max_size=9).filter(lambda row: b"\n" not in row), min_size=1))
def test_a_column_has_a_byte_of_each_line(rows: list[bytes]) -> None:
    data = b"\n".join(rows)
    for one, number in product((PLAIN, QUICK), range(3)):
        assert one is not None
        assert one.lines(data, len(rows)).column(number) == bytes(row[number] for row in rows)


@given(LINES, st.booleans())
@example([HEAD, HEAD], False)
@example([HEAD[:-1]], False)
@example([b"x" + HEAD], False)
def test_a_beginning_is_taken_off_if_all_lines_have_it(rows: list[bytes], whole: bool) -> None:
    rows = [HEAD + row for row in rows] if whole else rows
    text = b"\n".join(rows)
    have = all(row.startswith(HEAD) for row in text.split(b"\n"))
    for one in (PLAIN, QUICK):
        assert one is not None
        count, left = one.without(text, HEAD)
        assert count == (len(rows) if have else 0)
        if have:
            assert [row.removeprefix(b"\t" * len(HEAD)) for row in left.split(b"\n")] == [
                row[len(HEAD) :] for row in rows
            ]


def test_without_numpy_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert cutter() is None
