"""Merges an adapter into copies of its base's files, some rows at a time. Needs torch.

Everything is computed in float64 and rounded once to the type that the base has, so that no value is further
than half a unit in its last place from base + adapter. PEFT's `merge_and_unload` rounds what the adapter adds
before it adds it. Memory: BLOCK_VALUES of a matrix and the two factors of one module.
"""

from __future__ import annotations

import os
import shutil
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from allranks.checkpoints.base_model import BaseModel
from allranks.checkpoints.edits import Change, Edit
from allranks.checkpoints.weights import Tensor, make_header
from allranks.worker.tensor_file import write_at

BLOCK_VALUES = 1 << 20
"""Held at once, some ten times as float64."""

COPY_BYTES = 16 << 20
DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}


class Merge:
    """The merged tensors in float64: `exact(edit, first, end)` gives rows of one. Use as a context
    manager; `untied` is {a tensor that is no longer stored once for two: the one it begins as}."""

    def __init__(self, base: BaseModel, adapter: str, edits: Mapping[str, Edit], untied: Mapping[str, str]):
        self.base, self.adapter, self.edits, self.untied = base, adapter, edits, untied
        self._open: Dict[str, int] = {}
        self._factors: Dict[str, Tuple[Any, Any]] = {}
        self._norms: Dict[str, Any] = {}

    def __enter__(self) -> "Merge":
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._open.values():
            os.close(fd)

    def place(self, name: str) -> Tuple[str, Tensor]:
        """(path of the base's file, the tensor there) that a tensor of the merged model begins as."""
        place = self.base.places[self.untied.get(name, name)]
        return os.path.join(self.base.path, place.file), place.tensor

    def matrix(self, name: str) -> Tuple[int, int]:
        """Rows and columns: a vector has one column, and of three dimensions the first two are rows."""
        shape = self.place(name)[1].shape
        columns = shape[-1] if len(shape) > 1 else 1
        count = self.place(name)[1].count
        return count // columns if columns else 0, columns

    def rows(self, path: str, tensor: Tensor, first: int, end: int, columns: int) -> Any:
        return rows_of(self._fd(path), tensor, first, end, columns).double()

    def before(self, edit: Edit, first: int, end: int) -> Any:
        """Rows of the base in float64."""
        return self.rows(*self.place(edit.target), first, end, self.matrix(edit.target)[1])

    def exact(self, edit: Edit, first: int, end: int) -> Any:
        """Rows of base + adapter in float64."""
        columns = self.matrix(edit.target)[1]
        if edit.replaced is None:
            values = self.before(edit, first, end)
        else:
            values = self.rows(self.adapter, edit.replaced, first, end, columns)
        if edit.bias is not None:
            tensor, scale = edit.bias
            values = values + scale * self.rows(self.adapter, tensor, first, end, 1)
        for change in edit.changes:
            values = self._changed(edit, values, change, first, end)
        each = self.place(edit.target)[1].shape[1] if edit.slices else 0
        for number, change in edit.slices.items():
            low, high = max(first, number * each), min(end, (number + 1) * each)
            if low < high:
                here = slice(low - first, high - first)
                values[here] = values[here] + self._added(change, low - number * each, high - number * each)
        return values

    def _changed(self, edit: Edit, values: Any, change: Change, first: int, end: int) -> Any:
        new = values + self._added(change, first, end)
        if change.magnitude is None:
            return new
        magnitude = self.rows(self.adapter, change.magnitude, 0, change.magnitude.count, 1)
        if change.flipped:  # an output is a column
            return new * (magnitude.reshape(1, -1) / self._column_norms(edit, change))
        return new * (magnitude[first:end] / new.norm(dim=1, keepdim=True))

    def _column_norms(self, edit: Edit, change: Change) -> Any:
        if edit.target not in self._norms:
            total: Any = 0
            for first, end in blocks(*self.matrix(edit.target)):
                total = total + (
                    self.before(edit, first, end) + self._added(change, first, end)
                ).square().sum(0)
            self._norms[edit.target] = total.sqrt().reshape(1, -1)
        return self._norms[edit.target]

    def _added(self, change: Change, first: int, end: int) -> Any:
        left, right = self.factors(change)
        first, end = first + change.first, end + change.first
        return (left[first:end] @ right) * change.scale

    def factors(self, change: Change) -> Tuple[Any, Any]:
        """(L, R) in float64."""
        if change.module not in self._factors:
            self._factors.clear()
            a, b = [self.rows(self.adapter, t, 0, t.shape[0], t.shape[1]) for t in (change.a, change.b)]
            self._factors[change.module] = (a, b)
        a, b = self._factors[change.module]
        if change.expert is not None:  # PEFT: A is [experts · r, in], B is [out, r · experts]
            number, experts = change.expert
            rank = a.shape[0] // experts
            a, b = a[number * rank : (number + 1) * rank], b[:, number::experts]
        return (a.T, b.T) if change.flipped else (b, a)

    def _fd(self, path: str) -> int:
        if path not in self._open:
            self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return self._open[path]


def rows_of(fd: int, tensor: Tensor, first: int, end: int, columns: int) -> Any:
    """Rows of a tensor in the type of the file."""
    import torch

    dtype = getattr(torch, DTYPES[tensor.dtype])
    width = (tensor.end - tensor.begin) // max(1, tensor.count) * columns
    raw = bytearray(os.pread(fd, (end - first) * width, tensor.begin + first * width))
    if len(raw) != (end - first) * width:
        raise OSError("%s ended while it was read" % tensor.name)
    if not raw:
        return torch.empty(0, columns, dtype=dtype)
    return torch.frombuffer(raw, dtype=dtype).reshape(end - first, columns)


def blocks(rows: int, columns: int, values: Optional[int] = None) -> Iterator[Tuple[int, int]]:
    each = max(1, (values or BLOCK_VALUES) // max(1, columns))
    for first in range(0, rows, each):
        yield first, min(rows, first + each)


class Lost:
    """How much of what the adapter changes the rounding to the base's type takes away."""

    def __init__(self) -> None:
        self.changed = self.lost = 0.0

    def add(self, before: Any, exact: Any, written: Any) -> None:
        self.changed += float((exact - before).square().sum())
        self.lost += float((written.double() - exact).square().sum())

    @property
    def share(self) -> float:
        """‖written - exact‖ / ‖exact - base‖: 0 is exact, 1 loses as much as the training changed."""
        return (self.lost / self.changed) ** 0.5 if self.changed else 0.0


def write(merge: Merge, folder: str, names: Mapping[str, str], extra: Optional[str]) -> Lost:
    """Fills `folder` with the merged weights. `names` is {file of the base: its name there}; `extra` the file for
    the tensors that are no longer tied."""
    lost = Lost()
    for file in merge.base.files:
        target = os.path.join(folder, names[file])
        copy_file(os.path.join(merge.base.path, file), target)
        here = [edit for name, edit in merge.edits.items() if _file(merge, name) == file]
        _patch(merge, target, here, {edit.target: merge.place(edit.target)[1] for edit in here}, lost)
    if extra is not None:
        target = os.path.join(folder, extra)
        tensors = begin_extra(merge, target)
        _patch(merge, target, [merge.edits[n] for n in tensors if n in merge.edits], tensors, lost)
    return lost


def _file(merge: Merge, name: str) -> Optional[str]:
    return None if name in merge.untied else merge.base.places[name].file


def _patch(merge: Merge, path: str, edits: List[Edit], places: Mapping[str, Tensor], lost: Lost) -> None:
    """Writes the merged values over those of the base; the header stays, since no type and shape changes."""
    import torch

    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        for edit in sorted(edits, key=lambda e: ([c.module for c in e.changes], e.target)):
            tensor, (rows, columns) = places[edit.target], merge.matrix(edit.target)
            dtype = getattr(torch, DTYPES[tensor.dtype])
            width = columns * dtype_bytes(tensor)
            for first, end in blocks(rows, columns):
                exact = merge.exact(edit, first, end)
                written = exact.to(dtype)
                lost.add(merge.before(edit, first, end), exact, written)
                raw = memoryview(written.contiguous().reshape(-1).view(torch.uint8).numpy())
                write_at(fd, raw, tensor.begin + first * width)
        os.fsync(fd)
    finally:
        os.close(fd)


def dtype_bytes(tensor: Tensor) -> int:
    return (tensor.end - tensor.begin) // max(1, tensor.count)


def begin_extra(merge: Merge, path: str) -> Dict[str, Tensor]:
    """Writes a safetensors file of the untied tensors, with the values they were tied to; where each is."""
    sources = {name: merge.place(name) for name in sorted(merge.untied)}
    head, places = make_header([(name, tensor.dtype, tensor.shape) for name, (_, tensor) in sources.items()])
    with open(path, "wb") as file:
        file.write(head)
        for source, tensor in sources.values():
            copy_bytes(source, tensor, file)
    return {tensor.name: tensor for tensor in places}


def copy_bytes(source: str, tensor: Tensor, file: Any) -> None:
    with open(source, "rb") as other:
        other.seek(tensor.begin)
        left = tensor.end - tensor.begin
        while left:
            part = other.read(min(left, COPY_BYTES))
            if not part:
                raise OSError("%s ended while it was read" % source)
            file.write(part)
            left -= len(part)


def copy_file(source: str, target: str) -> None:
    """A copy that shares blocks where the file system can (XFS, Btrfs)."""
    if not hasattr(os, "copy_file_range"):  # Python 3.8 before 3.8.0 final, or another system
        shutil.copyfile(source, target)
        return
    with open(source, "rb") as old, open(target, "wb") as new:
        left = os.fstat(old.fileno()).st_size
        try:
            while left:
                done = os.copy_file_range(old.fileno(), new.fileno(), min(left, 1 << 30))
                if not done:
                    raise OSError("%s ended while it was read" % source)
                left -= done
            return
        except OSError:
            pass  # across file systems on an older kernel
    shutil.copyfile(source, target)
