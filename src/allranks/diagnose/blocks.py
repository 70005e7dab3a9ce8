"""Logs as large blocks of whole lines."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator, List, Sequence, Set

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


LAST = 64
"""Lines at the end of a block that are found without cutting the block into lines."""


class Lines(Sequence[bytes]):
    """The lines of a block. They are cut apart only if one of them is needed that is not among the last."""

    __slots__ = ("_data", "_last", "_length", "_lines")

    def __init__(self, data: bytes, length: int) -> None:
        self._data, self._length = data, length
        self._lines: List[bytes] = []
        self._last: List[bytes] = []

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, number: Any) -> Any:
        if not self._lines and isinstance(number, int) and number > self._length - LAST:
            self._last = self._last or self._data.rsplit(b"\n", LAST)
            return self._last[number - self._length]
        return self.cut()[number]

    def cut(self) -> List[bytes]:
        self._lines = self._lines or self._data.split(b"\n")
        return self._lines


def lines_of(places: Iterable[int], text: bytes) -> Set[int]:
    """The numbers of the lines that contain these places. A line's end belongs to the line."""
    found: Set[int] = set()
    number, at = 0, 0
    for place in sorted(set(places)):
        number += text.count(b"\n", at, place)
        at = max(at, place)
        found.add(number)
    return found
