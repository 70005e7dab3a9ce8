"""Ranges of safetensors files, read straight to where they belong; a file that changes meanwhile is noticed.

The format (huggingface/safetensors, README "Format"): 8 bytes with the header's length (little-endian), a JSON header
`{name: {dtype, shape, data_offsets}}` whose offsets begin behind it, then the values, row after row.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import time
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Tuple

ITEM_BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1,
    "F8_E4M3": 1, "F8_E5M2": 1,
}  # fmt: skip
LARGEST_HEADER = 100 << 20
"""safetensors itself takes no longer one."""
PIECE_BYTES = 16 << 20
"""Of one read: progress is told between two of them, and slow storage shall not look like none."""
PASSING = frozenset((errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EINTR))
"""Errors of storage that a second try may not have: a server that fails over, a cable that was moved."""
WAITS = (1.0, 2.0, 4.0)
"""Seconds before each further try."""
SAMPLES, SAMPLE_BYTES = 256, 4096
LFS_POINTER = b"version "
"""The first bytes of the small file that stands for one that was not fetched (git-lfs, docs/spec.md)."""
INDEX = "model.safetensors.index.json"


class CannotRead(RuntimeError):
    """A file of weights that cannot be loaded: it is missing, cut short, damaged or was replaced."""


class Stored(NamedTuple):
    """One tensor in a file. `begin` counts bytes from the file's begin."""

    file: int
    dtype: str
    shape: Tuple[int, ...]
    begin: int
    bytes: int


class Files:
    """Open safetensors files; `tensors` maps names to where they are stored. To be closed."""

    def __init__(self) -> None:
        self.paths: List[str] = []
        self.tensors: Dict[str, Stored] = {}
        self._open: List[int] = []
        self._seen: List[Tuple[int, ...]] = []
        self.retries, self.error = 0, ""
        """Reads that were tried again, and why the last one was."""

    def add(self, path: str) -> List[str]:
        """The names in one more file. Raises CannotRead if the file cannot hold what its header says."""
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except OSError as error:
            raise CannotRead("%s: %s" % (path, error.strerror or error)) from error
        number = len(self._open)
        self._open.append(descriptor)
        self.paths.append(path)
        self._seen.append(identity(os.fstat(descriptor)))
        size = self._seen[-1][2]
        head = self._bytes(number, 0, 8)
        if head == LFS_POINTER:
            raise CannotRead("%s is a pointer of Git LFS, not the file itself: run `git lfs pull`" % path)
        length = int.from_bytes(head, "little")
        if length > min(LARGEST_HEADER, size - 8):
            raise CannotRead("%s is cut short or damaged: a header of %d bytes in %d" % (path, length, size))
        try:
            header = json.loads(self._bytes(number, 8, length).decode("utf-8"))
            found = {
                str(name): stored(number, one, 8 + length)
                for name, one in header.items()
                if name != "__metadata__"
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CannotRead("%s: its header is damaged (%s)" % (path, error)) from error
        end = max([8 + length, *(one.begin + one.bytes for one in found.values())])
        if end != size:
            raise CannotRead(
                "%s has %s bytes, and its header promises %s" % (path, format(size, ","), format(end, ","))
            )
        self.tensors.update(found)
        return list(found)

    def read(self, name: str, first: int, target: memoryview) -> None:
        """Fills `target` with the tensor's bytes from `first` on."""
        place = self.tensors[name]
        if first < 0 or first + len(target) > place.bytes:
            raise CannotRead("%s holds no bytes %d to %d of itself" % (name, first, first + len(target)))
        self._fill(place.file, place.begin + first, target)

    def will_need(self, file: int, begin: int, count: int) -> bool:
        """Asks the kernel to fetch these bytes meanwhile; whether it may be asked again."""
        try:
            os.posix_fadvise(self._open[file], begin, count, os.POSIX_FADV_WILLNEED)
        except (AttributeError, OSError):  # not on every system
            return False
        return True

    def _bytes(self, file: int, begin: int, count: int) -> bytes:
        target = bytearray(count)
        self._fill(file, begin, memoryview(target))
        return bytes(target)

    def _fill(self, file: int, begin: int, target: memoryview) -> None:
        done, waits = 0, list(WAITS)
        while done < len(target):
            try:
                count = os.preadv(self._open[file], [target[done : done + PIECE_BYTES]], begin + done)
            except OSError as error:
                said = "%s: %s" % (self.paths[file], error.strerror or error)
                if error.errno not in PASSING or not waits:
                    raise CannotRead(said) from error
                self.retries, self.error = self.retries + 1, said[-200:]
                time.sleep(waits.pop(0))
                continue
            if not count:
                text = "%s ended at byte %s while it was read"
                raise CannotRead(text % (self.paths[file], format(begin + done, ",")))
            done += count

    def check_unchanged(self) -> None:
        """Raises CannotRead if a file is another one than when it was opened, or was written to since."""
        for path, descriptor, seen in zip(self.paths, self._open, self._seen):
            try:
                same = identity(os.fstat(descriptor)) == seen == identity(os.stat(path))
            except OSError as error:
                raise CannotRead("%s: %s" % (path, error.strerror or error)) from error
            if not same:
                raise CannotRead("%s was replaced or written to while it was read" % path)

    def states(self) -> List[Tuple[str, int, int]]:
        """(path, size, mtime in ns) of each file."""
        return [(os.path.abspath(path), seen[2], seen[3]) for path, seen in zip(self.paths, self._seen)]

    def check_index(self, is_wanted: Callable[[str], bool]) -> None:
        """Raises CannotRead if the index beside the files promises a tensor that the model wants in one of them, and no
        file holds it: then they are of different versions of a model."""
        places = {os.path.basename(path): path for path in self.paths}
        path = os.path.join(os.path.dirname(self.paths[0]) if self.paths else "", INDEX)
        try:
            with open(path, encoding="utf-8") as file:
                promised = dict(json.load(file)["weight_map"])
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CannotRead("%s: %s" % (path, error)) from error
        for name, file in sorted(promised.items()):
            if file in places and name not in self.tensors and is_wanted(name):
                raise CannotRead("%s does not hold %s, which %s promises" % (places[file], name, INDEX))

    def sample(self, names: List[str]) -> str:
        """A digest of these tensors' headers and of up to SAMPLES stretches of their values, at the same places on
        every rank."""
        told = hashlib.sha256()
        names = sorted(names)
        for name in names:
            place = self.tensors[name]
            told.update(repr((name, place.dtype, place.shape)).encode("utf-8"))
        for number in range(min(SAMPLES, len(names))):
            name = names[number * len(names) // min(SAMPLES, len(names))]
            room = self.tensors[name].bytes
            target = bytearray(min(SAMPLE_BYTES, room))
            seed = int.from_bytes(hashlib.sha256(name.encode("utf-8")).digest()[:8], "little")
            self.read(name, seed % (room - len(target) + 1), memoryview(target))
            told.update(target)
        return told.hexdigest()

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())


def identity(found: os.stat_result) -> Tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def stored(file: int, entry: Any, values: int) -> Stored:
    """An entry of a header whose values begin at byte `values`. Raises ValueError if it does not add up."""
    begin, end = entry["data_offsets"]
    shape = tuple(int(length) for length in entry["shape"])
    wanted = ITEM_BYTES.get(entry["dtype"])
    if not 0 <= begin <= end or min((0, *shape)) < 0:
        raise ValueError("offsets %s to %s" % (begin, end))
    if wanted is not None and numel(shape) * wanted != end - begin:
        raise ValueError("%s%s is stored in %d bytes" % (entry["dtype"], list(shape), end - begin))
    return Stored(file, str(entry["dtype"]), shape, values + begin, end - begin)


def numel(shape: Iterable[int]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


def memory_of(tensor: Any) -> memoryview:
    """The memory of a contiguous tensor of the CPU."""
    count = tensor.numel() * tensor.element_size()
    return memoryview((ctypes.c_char * count).from_address(tensor.data_ptr())).cast("B")
