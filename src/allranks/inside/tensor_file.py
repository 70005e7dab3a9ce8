"""Writes a safetensors file tensor by tensor, so that no more than one is in memory.

The format (huggingface/safetensors, README "Format"): 8 bytes with the header's length, a JSON header padded
with spaces to a multiple of 8, then the values. All sizes are known before the first value.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

TYPES = {
    "torch.float64": "F64", "torch.float32": "F32", "torch.float16": "F16", "torch.bfloat16": "BF16",
    "torch.int64": "I64", "torch.int32": "I32", "torch.int16": "I16", "torch.int8": "I8", "torch.uint8": "U8",
    "torch.bool": "BOOL",
}  # fmt: skip

Entry = Tuple[str, Any, Tuple[int, ...]]
"""A tensor to come: name, torch dtype, shape."""


class TensorFile:
    """A file whose tensors are known by name, type and shape; `add` takes their values in that order.

    Use as a context manager. Raises OSError where it cannot be written, ValueError for a tensor out of turn.
    """

    def __init__(self, path: str, entries: List[Entry]):
        header: Dict[str, Any] = {"__metadata__": {"format": "pt"}}
        offset = 0
        for name, dtype, shape in entries:
            size = dtype.itemsize if hasattr(dtype, "itemsize") else item_bytes(dtype)
            for length in shape:
                size *= length
            header[name] = {
                "dtype": TYPES[str(dtype)],
                "shape": list(shape),
                "data_offsets": [offset, offset + size],
            }
            offset += size
        text = json.dumps(header, separators=(",", ":")).encode("utf-8")
        text += b" " * (-len(text) % 8)
        self._due = list(entries)[::-1]
        self._file = open(path, "wb")  # noqa: SIM115 (closed by __exit__)
        self._file.write(len(text).to_bytes(8, "little") + text)

    def __enter__(self) -> "TensorFile":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        if kind is None and self._due:
            raise ValueError("%d tensors were promised and never came" % len(self._due))

    def add(self, name: str, tensor: Any) -> None:
        import torch

        due, dtype, shape = self._due.pop()
        if (name, tensor.dtype, tuple(tensor.shape)) != (due, dtype, tuple(shape)):
            raise ValueError("%s came where %s was due" % (name, due))
        values = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        self._file.write(memoryview(values.numpy()))


def item_bytes(dtype: Any) -> int:
    """Older torch: a dtype does not say its size."""
    import torch

    return torch.empty(0, dtype=dtype).element_size()
