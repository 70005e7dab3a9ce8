"""Blocks of logs cut with numpy: the same as byte by byte."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from allranks.cli.log_arrays import THREADS, cutter
from allranks.diagnose.blocks import Cutter

BOTH: list[Cutter] = [Cutter(), *filter(None, [cutter()])]
HEAD = b"0000-00-00 00:00:00 "
LINES = st.lists(
    st.sampled_from([b"", b"a", b"12 b", HEAD, HEAD + b"x", HEAD[1:] + b"y", bytes(range(32, 256))])
)


def test_the_two_are_different() -> None:
    assert len({type(one) for one in BOTH}) == 2


@given(st.binary(max_size=300))
def test_every_digit_is_0(data: bytes) -> None:
    plain, quick = (one.alike(data) for one in BOTH)
    assert quick == plain


@given(LINES, st.integers(0, 90))
@example([b"%d" % (n * n) for n in range(80)], 0)
def test_each_line_is_the_same_in_any_order(rows: list[bytes], first: int) -> None:
    data = b"\n".join(rows)
    expected = data.split(b"\n")
    for number in sorted(range(len(expected)), key=lambda n: (n != first, n)):
        for one in BOTH:
            assert one.lines(data, len(expected))[number] == expected[number]
    for one in BOTH:
        lines = one.lines(data, len(expected))
        assert [lines[number] for number in range(len(lines))] == expected == list(lines)
        lines = one.lines(data, len(expected))
        assert (lines[-1], lines[:2]) == (expected[-1], expected[:2])
        with pytest.raises(IndexError):
            _ = one.lines(data, len(expected))[len(expected)]


@given(st.lists(st.binary(min_size=3, max_size=9).filter(lambda row: b"\n" not in row), min_size=1))
def test_a_column_has_a_byte_of_each_line(rows: list[bytes]) -> None:
    data = b"\n".join(rows)
    for one, number in product(BOTH, range(3)):
        assert one.lines(data, len(rows)).column(number) == bytes(row[number] for row in rows)


@given(LINES, st.booleans())
@example([HEAD, HEAD], False)
@example([HEAD[:-1]], False)
@example([b"x" + HEAD], False)
def test_a_beginning_is_taken_off_if_all_lines_have_it(rows: list[bytes], whole: bool) -> None:
    rows = [HEAD + row for row in rows] if whole else rows
    text = b"\n".join(rows)
    have = all(row.startswith(HEAD) for row in text.split(b"\n"))
    for one in BOTH:
        count, left = one.without(text, HEAD)
        assert count == (len(rows) if have else 0)
        if have:
            assert [row.removeprefix(b"\t" * len(HEAD)) for row in left.split(b"\n")] == [
                row[len(HEAD) :] for row in rows
            ]


def test_without_numpy_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert cutter() is None


def test_a_numpy_that_refuses_this_processor_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numpy.py").write_text("raise RuntimeError('built for another processor')")
    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert cutter() is None


@pytest.mark.parametrize("before", [None, "3"])
def test_numpy_is_loaded_without_threads_and_leaves_no_variable(before: str | None) -> None:
    """In a process of its own: this one may have loaded numpy before."""
    code = (
        "import os; from allranks.cli.log_arrays import THREADS, cutter\n"
        "assert cutter() is not None; print(len(os.listdir('/proc/self/task')), os.environ.get(THREADS))"
    )
    environment = {name: value for name, value in os.environ.items() if name != THREADS}
    environment |= {THREADS: before} if before else {}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", str(before)]
