"""Where each value of a tensor comes from: stretches of tensors in files, end to end.

A library's own conversion (stack these experts, put gate and up together) runs on tensors without values that
remember their origin. So allranks does not need the rules of each model: if the result is a plain sequence of
stretches, any part of it can be read from the files. Any other result (of a transposition, of an operation not known
here) loses its stretches and keeps only the names that it was made of.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

from allranks.worker.weight_files import numel

MOST_STRETCHES = 65_536
"""Of one tensor. A part of a parameter that is in more, single rows for example, is read faster as a whole."""

KNOWN_ARGUMENTS = frozenset(("dim", "tensors", "input", "chunks", "split_size", "split_size_or_sections"))
"""By name, of what joins and cuts. `axis` and `out` are others."""


class Stretch(NamedTuple):
    """`length` values of a stored tensor in row-major order, from number `first` on."""

    name: str
    first: int
    length: int


def between(stretches: Sequence[Stretch], first: int, end: int) -> List[Stretch]:
    """The stretches of the values `first` to `end` (not included) of a sequence of stretches."""
    found, begin = [], 0
    for one in stretches:
        low, high = max(first, begin), min(end, begin + one.length)
        if low < high:
            found.append(Stretch(one.name, one.first + low - begin, high - low))
        begin += one.length
        if begin >= end:
            break
    return found


def merged(stretches: Sequence[Stretch]) -> List[Stretch]:
    """The same values in as few stretches as possible."""
    found: List[Stretch] = []
    for one in stretches:
        if found and found[-1].name == one.name and found[-1].first + found[-1].length == one.first:
            found[-1] = Stretch(one.name, found[-1].first, found[-1].length + one.length)
        elif one.length:
            found.append(one)
    return found


def joined(
    parts: Sequence[Tuple[Tuple[int, ...], Sequence[Stretch]]], dim: int
) -> Optional[Tuple[Stretch, ...]]:
    """Tensors (shape, stretches) concatenated along `dim`; None if that gives more stretches than are worth it."""
    outer = numel(parts[0][0][:dim])
    if outer * len(parts) > MOST_STRETCHES:
        return None
    cursors = [Cursor(stretches) for _, stretches in parts]
    slabs = [numel(shape[dim:]) for shape, _ in parts]
    found: List[Stretch] = []
    for _ in range(outer):
        for cursor, slab in zip(cursors, slabs):
            found.extend(cursor.take(slab))
    found = merged(found)
    return tuple(found) if len(found) <= MOST_STRETCHES else None


def narrowed(
    shape: Tuple[int, ...], stretches: Sequence[Stretch], dim: int, start: int, length: int
) -> Optional[Tuple[Stretch, ...]]:
    """The part `start` to `start + length` of a tensor along `dim`."""
    outer, inner = numel(shape[:dim]), numel(shape[dim + 1 :])
    if outer > MOST_STRETCHES:
        return None
    cursor, found = Cursor(stretches), []
    for _ in range(outer):
        cursor.take(start * inner)
        found.extend(cursor.take(length * inner))
        cursor.take((shape[dim] - start - length) * inner)
    found = merged(found)
    return tuple(found) if len(found) <= MOST_STRETCHES else None


class Cursor:
    """Takes values from a sequence of stretches, one after another."""

    def __init__(self, stretches: Sequence[Stretch]):
        self._left, self._number, self._used = stretches, 0, 0

    def take(self, count: int) -> List[Stretch]:
        found = []
        while count:
            one = self._left[self._number]
            here = min(count, one.length - self._used)
            if here:
                found.append(Stretch(one.name, one.first + self._used, here))
            self._used += here
            count -= here
            if self._used == one.length:
                self._number, self._used = self._number + 1, 0
        return found


class Functions:
    """torch's functions whose results are stretches of what they are given."""

    def __init__(self, torch: Any):
        self.joins = {torch.cat, torch.concat, torch.concatenate, torch.stack}
        self.cuts = {torch.chunk, torch.split, torch.Tensor.chunk, torch.Tensor.split}
        words = ("contiguous", "clone", "detach", "view", "reshape", "squeeze", "unsqueeze", "flatten")
        self.same = {getattr(torch.Tensor, word) for word in words}
        self.same |= {getattr(torch, word) for word in words if hasattr(torch, word)}

    def follow(
        self, func: Any, args: Any, kwargs: Any, inputs: List[Any], origins: List[Any], results: List[Any]
    ) -> None:
        """Gives the results their stretches, if they follow from those of the inputs, `origins`."""
        one_type = len({one.dtype for one in (*inputs, *results)}) == 1
        if not one_type or any(one.is_complex() for one in inputs):
            return
        shapes = [tuple(one.shape) for one in inputs]
        if func in self.same and len(inputs) == len(results) == 1 and numel(shapes[0]) == results[0].numel():
            results[0].stretches = origins[0]
        elif set(kwargs) - KNOWN_ARGUMENTS:
            return
        elif func in self.joins and len(results) == 1:
            dim = dimension(args, kwargs, 1, results[0].dim())
            results[0].stretches = joined(list(zip(shapes, origins)), dim)
        elif func in self.cuts and len(inputs) == 1:
            dim, start = dimension(args, kwargs, 2, inputs[0].dim()), 0
            for one in results:
                length = one.shape[dim]
                one.stretches = narrowed(shapes[0], origins[0], dim, start, length)
                start += length


def tracer(torch: Any) -> Callable[[str, Tuple[int, ...], Any], Any]:
    """A function (name, shape, dtype) that gives a tensor without values, which remembers where they are stored.

    Such a tensor has `stretches` (None once they are lost), and the `names` of all stored tensors that went in.
    """
    functions = Functions(torch)

    class Traced(torch.Tensor):
        names: FrozenSet[str] = frozenset()
        kept: Tuple[Optional[Tuple[Stretch, ...]], int] = None, 0

        @property
        def stretches(self) -> Optional[Tuple[Stretch, ...]]:
            """None also once something has been written into the tensor, or into one that shares its memory."""
            found, version = self.kept
            return found if found is not None and version == self._version else None

        @stretches.setter
        def stretches(self, found: Optional[Tuple[Stretch, ...]]) -> None:
            self.kept = found, self._version

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            result = super().__torch_function__(func, types, args, kwargs)
            results = [one for one in (result if isinstance(result, (tuple, list)) else [result])]
            if results and all(isinstance(one, Traced) for one in results):
                inputs = [one for one in flat((*args, *kwargs.values())) if isinstance(one, torch.Tensor)]
                names = frozenset().union(*(getattr(one, "names", ()) for one in inputs))
                # The result may be the input itself, as that of `contiguous` is.
                origins = [one.stretches if isinstance(one, Traced) else None for one in inputs]
                for one in results:
                    one.names, one.stretches = names, None
                if None not in origins:
                    functions.follow(func, args, kwargs, inputs, origins, results)
            return result

    def traced(name: str, shape: Tuple[int, ...], dtype: Any) -> Any:
        tensor = torch.empty(shape, dtype=dtype, device="meta").as_subclass(Traced)
        tensor.names = frozenset([name])
        tensor.stretches = (Stretch(name, 0, numel(shape)),)
        return tensor

    return traced


def dimension(args: Sequence[Any], kwargs: Dict[str, Any], place: int, dims: int) -> int:
    """The argument `dim` of a function of torch, counted from 0; `dims` is how many there are."""
    dim = kwargs.get("dim", args[place] if len(args) > place else 0)
    return dim + dims if dim < 0 else dim


def flat(values: Any) -> List[Any]:
    found: List[Any] = []
    for value in values:
        found.extend(flat(value) if isinstance(value, (list, tuple)) else [value])
    return found
