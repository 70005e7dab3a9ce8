"""Logs as large blocks of whole lines."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Any, Callable, Iterable, Iterator, List, Sequence, Set, Tuple

from allranks.diagnose.digits import ALIKE

BLOCK_BYTES = (1 << 18) - 4096
"""Small enough for a core's own cache with the lines that are cut from it."""

LONGEST = 1 << 20
"""Bytes of a line that are held; of a longer one the ends alone."""


def whole_lines(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """A stream in blocks of whole lines, without the last line's end. `\\r` ends lines too."""
    held, late = b"", b""
    while True:
        chunk = read(BLOCK_BYTES)
        if not chunk:
            break
        if late or b"\r" in chunk:
            chunk = late + chunk
            late = b"\r" if chunk.endswith(b"\r") else b""
            chunk = chunk[: len(chunk) - len(late)]
            if b"\n" in chunk:  # to look for one character takes much less time than for two
                chunk = chunk.replace(b"\r\n", b"\n")
            chunk = chunk.replace(b"\r", b"\n")
        end = chunk.rfind(b"\n")
        if end >= 0:
            yield b"".join((held, memoryview(chunk)[:end]))
            held = chunk[end + 1 :]
        else:
            held += chunk
        if len(held) > LONGEST:
            held = held[: LONGEST // 2] + held[-LONGEST // 4 :]
    if late or held:
        yield held


HELD_BYTES = 1 << 21


def with_last(blocks: Iterable[bytes], lines: int) -> Iterator[Tuple[bytes, bool]]:
    """The blocks, and whether it is the last one. That one has at least so many lines if there are as many in
    HELD_BYTES."""
    held: List[Tuple[bytes, int]] = []
    for block in blocks:
        held.append((block, len(block.rsplit(b"\n", lines))))
        while len(held) > 1 and (
            sum(count for _, count in held[1:]) >= lines or sum(len(one) for one, _ in held) > HELD_BYTES
        ):
            yield held.pop(0)[0], False
    if held:
        yield b"\n".join(one for one, _ in held), True


LAST = 64
"""Lines at the end of a block that are found without cutting the block into lines."""


class Lines(Sequence[bytes]):
    """The lines of a block. They are cut apart only if one of them is needed that is not among the last. `width`: the
    bytes of each with its end, if all are equally long."""

    __slots__ = ("_data", "_last", "_length", "_lines", "_width")

    def __init__(self, data: bytes, length: int, width: int = 0) -> None:
        self._data, self._length, self._width = data, length, width
        self._lines: List[bytes] = []
        self._last: List[bytes] = []

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.cut())

    def __getitem__(self, number: Any) -> Any:
        if self._lines:
            return self._lines[number]
        if self.is_near(number):
            self._last = self._last or self._data.rsplit(b"\n", LAST)
            return self._last[number - self._length]
        return self.cut()[number]

    def is_near(self, number: Any) -> bool:
        """Whether it is one of the last lines."""
        return number in range(max(0, self._length - LAST + 1), self._length)

    def cut(self) -> List[bytes]:
        self._lines = self._lines or self._data.split(b"\n")
        return self._lines

    def column(self, number: int) -> bytes:
        """The byte of each line in this column, which every line has."""
        if self._width:
            return self._data[number :: self._width]
        return bytes(map(itemgetter(number), self.cut()))


class Cutter:
    """The work on every byte of a block. A room above passes in an object that does the same in less time."""

    def alike(self, data: bytes) -> bytes:
        """The block with every digit as 0."""
        return data.translate(ALIKE)

    def lines(self, data: bytes, length: int) -> Lines:
        return Lines(data, length)

    def without(self, text: bytes, head: bytes) -> Tuple[int, bytes]:
        """(how many lines there are, all without this beginning); (0, b"") if one of them does not have it. Tabs may be
        left in its place: the matcher skips them (`suspects._START`)."""
        count, texts = text.count(b"\n") + 1, re.sub(b"\n" + re.escape(head), b"\n", b"\n" + text)
        return (count, texts[1:]) if len(text) + 1 - len(texts) == count * len(head) else (0, b"")


def lines_of(places: Iterable[int], text: bytes) -> Set[int]:
    """The numbers of the lines that contain these places. A line's end belongs to the line."""
    found: Set[int] = set()
    number, at = 0, 0
    for place in sorted(set(places)):
        number += text.count(b"\n", at, place)
        at = max(at, place)
        found.add(number)
    return found


def is_longer(text: bytes, limit: int) -> bool:
    """Whether a line is longer than this. To look for one line's end in so many bytes takes less time than to cut."""
    at = 0
    while len(text) - at > limit:
        at = text.rfind(b"\n", at, at + limit + 1) + 1
        if not at:
            return True
    return False


SAME = 8
"""Lines from which on it is worth looking how many more are the same."""


def same_lines(text: bytes, start: int) -> Tuple[int, int]:
    """(how many lines from `start` on are the same, the bytes of each with its end); (0, 0) if they are few. To
    compare many at once takes less time than to cut them apart."""
    width = text.find(b"\n", start) + 1 - start
    if width <= 0 or not _repeats(text, start, width, SAME):
        return 0, 0
    least, most = SAME, (len(text) - start) // width
    if _repeats(text, start, width, most):
        least = most
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if _repeats(text, start, width, middle) else (least, middle)
    return least, width


def _repeats(text: bytes, start: int, width: int, count: int) -> bool:
    """Whether so many lines are there and all are the same."""
    end = start + width * (count - 1)
    return len(text) >= end + width and text.startswith(text[start:end], start + width)
