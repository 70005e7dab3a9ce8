"""Asks the kernel for the bytes that a rank reads next, while the rank still copies those before.

A rank's ranges lie apart in the files. The kernel's own read-ahead starts again in each of them, so the storage often
waits for the rank. It also goes past the end of each range, so a node that needs a third of the files reads more than
that (`python -m benchmarks load_cold` has both figures). Nothing depends on it: if the file system refuses, it is not
asked again.
"""

from __future__ import annotations

from typing import Iterable, Iterator, Tuple

from allranks.worker.partition_plan import Own
from allranks.worker.weight_files import ITEM_BYTES, Files

AHEAD_BYTES = 32 << 20
"""Two of the reader's pieces."""

CHUNK_BYTES = 512 << 10
"""Of one request. The kernel cuts off the rest of one that is longer than both the device's read-ahead and its largest
transfer (mm/readahead.c, `force_page_cache_ra`)."""


class ReadAhead:
    """Of the ranges of these parts, which are read in this order."""

    def __init__(self, own: Iterable[Own], files: Files):
        self._chunks = chunks(own, files)
        self._files = files
        self._asked = self._read = 0

    def reads(self, count: int) -> None:
        """The rank is about to read `count` bytes more."""
        while self._asked < self._read + count + AHEAD_BYTES:
            chunk = next(self._chunks, None)
            if chunk is None or not self._files.will_need(*chunk):
                self._chunks = iter(())
                break
            self._asked += chunk[2]
        self._read += count


def chunks(own: Iterable[Own], files: Files) -> Iterator[Tuple[int, int, int]]:
    """(number of the file, begin in bytes, bytes) of each request."""
    for one in own:
        for stretch in one.stretches:
            place = files.tensors[stretch.name]
            item = ITEM_BYTES[place.dtype]
            begin, length = place.begin + stretch.first * item, stretch.length * item
            for done in range(0, length, CHUNK_BYTES):
                yield place.file, begin + done, min(CHUNK_BYTES, length - done)
