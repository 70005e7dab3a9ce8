"""Looks at every value of a tensor, in bounded memory, without numpy: is it finite, is it all zero.

A chunk of the file is read as one long integer, whose lanes are the values. A value is NaN or infinite
exactly if its exponent bits are all ones; the exponent plus its lowest bit then carries into the sign's
place, and into no other lane. Three operations on the long integer thus test every lane at once, at
several hundred MB a second.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Tuple

from allranks.checkpoints.weights import Damaged, Tensor
from allranks.core.text import printable

CHUNK_BYTES = 1 << 18
"""A multiple of every value's size. Large enough to amortize the calls, small enough to stay in a core's cache."""

_LANES = {
    # dtype: bytes a value, the bits that are all ones in NaN (and infinity, where there is one)
    "F64": (8, 0x7FF0000000000000),
    "F32": (4, 0x7F800000),
    "F16": (2, 0x7C00),
    "BF16": (2, 0x7F80),
    "F8_E5M2": (1, 0x7C),
    "F8_E4M3": (1, 0x7F),  # the "fn" variant: no infinity, NaN is all ones
    "C64": (4, 0x7F800000),  # two F32 a value
}


@lru_cache(maxsize=64)
def _masks(dtype: str, length: int) -> Tuple[int, int, int]:
    """The exponent bits, their lowest bit and the sign bit, repeated over `length` bytes."""
    width, exponent = _LANES[dtype]
    lowest = exponent & -exponent
    sign = 1 << (8 * width - 1)
    count = length // width

    def repeated(lane: int) -> int:
        return int.from_bytes(lane.to_bytes(width, "little") * count, "little")

    return repeated(exponent), repeated(lowest), repeated(sign)


def scan(fd: int, tensor: Tensor) -> Tuple[bool, bool]:
    """(all values finite, all values zero; minus zero is zero). Raises `Damaged` where the file has shrunk."""
    finite, zero, offset = True, True, tensor.begin
    known = tensor.dtype in _LANES
    while offset < tensor.end and (finite or zero):
        want = min(CHUNK_BYTES, tensor.end - offset)
        data = os.pread(fd, want, offset)
        if len(data) != want:
            raise Damaged("adapter-truncated", "the file ended within %s" % printable(tensor.name))
        offset += want
        if zero and data == bytes(want):
            continue
        if tensor.dtype == "F8_E8M0":
            finite, zero = finite and b"\xff" not in data, False  # a power of two: one NaN, no zero, no sign
            continue
        if not known:
            zero = False
            break  # whole numbers and 4- or 6-bit floats have no NaN
        number = int.from_bytes(data, "little")
        exponent, lowest, sign = _masks(tensor.dtype, want)
        if ((number & exponent) + lowest) & sign:
            finite = False
        if zero and number & ~sign:
            zero = False
    return finite, zero
