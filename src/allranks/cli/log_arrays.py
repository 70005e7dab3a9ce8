"""Cuts large blocks of a log with numpy, if it is installed: many bytes in one instruction."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from allranks.diagnose.blocks import Cutter, Lines

ZERO, DIGITS, END = 0x30, 10, 0x0A
THREADS = "OPENBLAS_NUM_THREADS"


def cutter() -> Cutter | None:
    """None without numpy: then each byte is looked at on its own, with the same results."""
    with without_threads():
        try:
            import numpy
        except Exception:  # not only ImportError: the processor may be too old for it
            return None
    return ArrayCutter(numpy)


@contextlib.contextmanager
def without_threads() -> Iterator[None]:
    """Keeps OpenBLAS from starting threads when numpy is loaded: a node may refuse them, and processes are forked
    later."""
    before = os.environ.get(THREADS)
    os.environ[THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[THREADS]
        else:
            os.environ[THREADS] = before


class ArrayLines(Lines):
    __slots__ = ("_numpy", "_starts")

    def __init__(self, data: bytes, length: int, numpy: Any) -> None:
        super().__init__(data, length)
        self._numpy, self._starts = numpy, None

    def starts(self) -> Any:
        if self._starts is None:
            self._starts = starts_of(self._numpy, self._data)
        return self._starts

    def __getitem__(self, number: Any) -> Any:
        if self._lines:
            return self._lines[number]
        is_near = self._starts is None and self.is_near(number)
        if is_near or number not in range(self._length):
            return super().__getitem__(number)
        start, end = self.starts()[number : number + 2].tolist()
        return self._data[start : end - 1]

    def column(self, number: int) -> bytes:
        text = self._numpy.frombuffer(self._data, self._numpy.uint8)
        return text[self.starts()[:-1] + number].tobytes()


class ArrayCutter(Cutter):
    def __init__(self, numpy: Any) -> None:
        self._numpy = numpy

    def alike(self, data: bytes) -> bytes:
        text = self._numpy.frombuffer(data, self._numpy.uint8)
        value = text - self._numpy.uint8(ZERO)
        value *= value < DIGITS
        return self._numpy.subtract(text, value, out=value).tobytes()

    def lines(self, data: bytes, length: int) -> Lines:
        return ArrayLines(data, length, self._numpy)

    def without(self, text: bytes, head: bytes) -> tuple[int, bytes]:
        starts, length = starts_of(self._numpy, text)[:-1], len(head)
        if starts[-1] + length > len(text):
            return 0, b""
        kind, filled = self._numpy.dtype(("V", length)), bytearray(text)
        heads = self._numpy.ndarray((len(text) - length + 1,), kind, filled, strides=(1,))
        if heads[starts].tobytes() != head * len(starts):
            return 0, b""
        heads[starts] = self._numpy.void(b"\t" * length)
        return len(starts), bytes(filled)


def starts_of(numpy: Any, data: bytes) -> Any:
    """The index of each line's first byte, and that of a line that would follow."""
    ends = numpy.flatnonzero(numpy.frombuffer(data, numpy.uint8) == END)
    starts = numpy.empty(len(ends) + 2, numpy.int64)
    starts[0], starts[-1] = 0, len(data) + 1
    numpy.add(ends, 1, out=starts[1:-1])
    return starts
