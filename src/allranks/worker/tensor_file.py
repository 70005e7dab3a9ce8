"""Lays out a safetensors file whose tensors are written one by one, each at its place.

The format (huggingface/safetensors, README "Format"): 8 bytes with the header's length, a JSON header padded
with spaces to a multiple of 8, then the values. All sizes are known before the first value.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Tuple

TYPES = {
    "torch.float64": "F64", "torch.float32": "F32", "torch.float16": "F16", "torch.bfloat16": "BF16",
    "torch.int64": "I64", "torch.int32": "I32", "torch.int16": "I16", "torch.int8": "I8", "torch.uint8": "U8",
    "torch.bool": "BOOL",
}  # fmt: skip

Entry = Tuple[str, Any, Tuple[int, ...]]
"""A tensor to come: name, torch dtype, shape."""


def header_of(entries: List[Entry]) -> Tuple[bytes, Dict[str, int], int]:
    """(the bytes before the values, {name: where its values begin in the file}, bytes of all values)."""
    header: Dict[str, Any] = {"__metadata__": {"format": "pt"}}
    places, offset = {}, 0
    for name, dtype, shape in entries:
        size = dtype.itemsize if hasattr(dtype, "itemsize") else item_bytes(dtype)
        for length in shape:
            size *= length
        header[name] = {
            "dtype": TYPES[str(dtype)],
            "shape": list(shape),
            "data_offsets": [offset, offset + size],
        }
        places[name] = offset
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    head = len(text).to_bytes(8, "little") + text
    return head, {name: len(head) + place for name, place in places.items()}, offset


def item_bytes(dtype: Any) -> int:
    """Older torch: a dtype does not say its size."""
    import torch

    return torch.empty(0, dtype=dtype).element_size()


def write_at(file: int, raw: memoryview, offset: int) -> None:
    done = 0
    while done < len(raw):
        done += os.pwrite(file, raw[done:], offset + done)
