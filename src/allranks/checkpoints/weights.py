"""Reads the header of a safetensors file and proves that the file holds exactly what the header says.

The format (its own description, `safetensors` 0.4 and later): 8 bytes little-endian header length, a
JSON object that starts with `{` and may be padded with spaces, then the data. Offsets count from the
end of the header; the tensors must cover the data without a hole, an overlap or a byte too many.
Nothing here allocates by what the file claims: sizes are compared with the file first.
"""

from __future__ import annotations

import json
import os
import struct
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

from allranks.core.text import printable

MAX_HEADER_BYTES = 100_000_000
"""The safetensors library refuses a longer header (MAX_HEADER_SIZE in its Rust source)."""

MOST_TENSORS = 200_000
"""LoRA on every expert of DeepSeek-V3 is some 94,000."""
MOST_COMMAS = 10 * MOST_TENSORS
"""A tensor's entry has five or six."""
MOST_DIMENSIONS = 16
LONGEST_NAME = 4096

DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
    "F64": 64, "I64": 64, "U64": 64, "C64": 64,
}  # fmt: skip


class Damaged(Exception):
    """A file is not what it claims. `id` is the finding's; `verdict` is None for the catalogue's own."""

    def __init__(self, id: str, saw: str, expected: str = ""):
        super().__init__(saw)
        self.id, self.saw, self.expected = id, saw, expected


@dataclass(frozen=True)
class Tensor:
    """One entry of the header. `begin` and `end` are byte offsets in the file itself."""

    name: str
    dtype: str
    shape: Tuple[int, ...]
    begin: int
    end: int

    @property
    def count(self) -> int:
        number = 1
        for size in self.shape:
            number *= size
        return number


def bounded_int(digits: str) -> int:
    """An integer of a JSON text; one of more than 20 digits is an attack on the parser's time, not a size."""
    if len(digits) > 20:
        raise ValueError("an integer of %d digits" % len(digits))
    return int(digits)


def read_header(fd: int, size: int) -> List[Tensor]:
    """The tensors of the open file `fd` of `size` bytes, in the order of their data. Raises `Damaged`."""
    if size < 8:
        raise Damaged(
            "adapter-truncated", "the file has %d bytes" % size, "at least 8 bytes of header length"
        )
    length = struct.unpack("<Q", _read(fd, 0, 8))[0]
    if length > MAX_HEADER_BYTES:
        raise Damaged(
            "adapter-header-too-large",
            "the first 8 bytes claim a header of {:,} bytes".format(length),
            "at most {:,} bytes".format(MAX_HEADER_BYTES),
        )
    if 8 + length > size:
        raise Damaged(
            "adapter-truncated",
            "the file has {:,} bytes, its header alone needs {:,}".format(size, 8 + length),
        )
    entries = _parse(_read(fd, 8, length))
    tensors = sorted((_tensor(*entry) for entry in entries), key=lambda t: (t.begin, t.end))
    _check_layout(tensors, size - 8 - length)
    start = 8 + length
    return [Tensor(t.name, t.dtype, t.shape, t.begin + start, t.end + start) for t in tensors]


def tensors_of(path: str) -> List[Tensor]:
    """The tensors of a file. Raises `Damaged` and OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return read_header(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def make_header(tensors: List[Tuple[str, str, Tuple[int, ...]]]) -> Tuple[bytes, List[Tensor]]:
    """(the bytes before the data of a file of these (name, dtype, shape), the tensors with their places in it)."""
    table: Dict[str, Any] = {"__metadata__": {"format": "pt"}}
    places, offset = [], 0
    for name, dtype, shape in tensors:
        here = Tensor(name, dtype, tuple(shape), offset, 0)
        end = offset + here.count * DTYPE_BITS[dtype] // 8
        table[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, end]}
        places.append((here, end))
        offset = end
    text = json.dumps(table, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    start = 8 + len(text)
    moved = [Tensor(t.name, t.dtype, t.shape, t.begin + start, end + start) for t, end in places]
    return struct.pack("<Q", len(text)) + text, moved


def _read(fd: int, offset: int, length: int) -> bytes:
    parts, have = [], 0
    while have < length:
        part = os.pread(fd, length - have, offset + have)
        if not part:
            raise Damaged(
                "adapter-truncated", "the file ended at byte {:,} while it was read".format(offset + have)
            )
        parts.append(part)
        have += len(part)
    return b"".join(parts)


class _Twice(ValueError):
    pass


def _no_duplicates(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise _Twice(key)
            seen.add(key)
    return table


def _parse(raw: bytes) -> List[Tuple[str, Any]]:
    if not raw.startswith(b"{"):
        raise Damaged("adapter-header-broken", "the header starts with %r" % raw[:8], "a JSON object")
    if raw.count(b"{") > MOST_TENSORS + 2 or raw.count(b",") > MOST_COMMAS:
        raise Damaged(
            "adapter-too-large", "the header is larger than that of {:,} tensors".format(MOST_TENSORS)
        )
    try:
        table = json.loads(raw.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_int=bounded_int)
    except _Twice as error:
        raise Damaged("adapter-duplicate-tensor", "the header names %s twice" % printable(error)) from None
    except (ValueError, RecursionError) as error:
        raise Damaged("adapter-header-broken", "the header is not JSON: %s" % printable(error)) from None
    metadata = table.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise Damaged("adapter-header-broken", "__metadata__ is not a table of texts")
    return list(table.items())


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _tensor(name: str, entry: Any) -> Tensor:
    shown = printable(name)
    if not isinstance(entry, dict):
        raise Damaged("adapter-header-broken", "%s is described by no table" % shown)
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or not isinstance(shape, list) or not all(map(_is_size, shape)):
        raise Damaged("adapter-header-broken", "%s has no dtype or no shape" % shown)
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise Damaged("adapter-header-broken", "%s has no pair of offsets" % shown)
    if len(shape) > MOST_DIMENSIONS or len(name) > LONGEST_NAME:
        saw = "%s has %d dimensions and a name of %d characters" % (shown, len(shape), len(name))
        raise Damaged("adapter-header-broken", saw, "at most %d and %d" % (MOST_DIMENSIONS, LONGEST_NAME))
    tensor = Tensor(name, dtype, tuple(shape), offsets[0], offsets[1])
    bits = DTYPE_BITS.get(dtype)
    if bits is None:
        raise Damaged("adapter-dtype-unknown", "%s has the dtype %s" % (shown, printable(dtype, 20)))
    if (tensor.end - tensor.begin) * 8 != tensor.count * bits:
        raise Damaged(
            "adapter-offsets-broken",
            "{} {} {} begins at byte {:,}".format(shown, dtype, shape, tensor.end - tensor.begin),
            "{:,} bytes".format(-(-tensor.count * bits // 8)),
        )
    return tensor


def _check_layout(tensors: List[Tensor], data_bytes: int) -> None:
    end = 0
    for tensor in tensors:
        if tensor.begin != end:
            kind = "overlaps the tensor before it" if tensor.begin < end else "leaves a hole before it"
            raise Damaged(
                "adapter-offsets-broken",
                "{} starts at byte {:,} of the data and {}".format(
                    printable(tensor.name), tensor.begin, kind
                ),
                "byte {:,}".format(end),
            )
        end = tensor.end
    if data_bytes < end:
        raise Damaged(
            "adapter-truncated",
            "the data ends after {:,} bytes".format(data_bytes),
            "{:,} bytes by the header".format(end),
        )
    if data_bytes > end:
        raise Damaged(
            "adapter-trailing-bytes",
            "{:,} bytes follow the last tensor".format(data_bytes - end),
            "{:,} bytes of data by the header".format(end),
        )
