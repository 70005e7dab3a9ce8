"""The kernel is asked for what a rank reads next: all of it, once, in order, and nothing else."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.worker.partition_plan import Own
from allranks.worker.read_ahead import AHEAD_BYTES, CHUNK_BYTES, ReadAhead, chunks
from allranks.worker.tensor_origin import Stretch
from allranks.worker.weight_files import Files, Stored

MiB = 1 << 20


class Asked:
    """Files of which only the places of tensors are known."""

    def __init__(self, *tensors: tuple[int, int, int], refuses_after: int = 1 << 30) -> None:
        self.tensors = {
            f"t{n}": Stored(file, "BF16", (count // 2,), begin, count)
            for n, (file, begin, count) in enumerate(tensors)
        }
        self.asked: list[tuple[int, int, int]] = []
        self.refuses_after = refuses_after

    def will_need(self, *chunk: int) -> bool:
        self.asked.append(chunk)  # type: ignore[arg-type]
        return len(self.asked) <= self.refuses_after


def own(*stretches: tuple[str, int, int]) -> Any:
    return Own("p", None, None, tuple(Stretch(*one) for one in stretches))


def test_chunks_are_the_ranges_and_nothing_else() -> None:
    files: Any = Asked((0, 100, 4 * MiB), (1, 8, 20))
    found = list(chunks([own(("t0", MiB // 2, MiB)), own(), own(("t1", 0, 1), ("t1", 9, 1))], files))
    assert found[:4] == [(0, 100 + MiB + n * CHUNK_BYTES, CHUNK_BYTES) for n in range(4)]
    assert found[4:] == [(1, 8, 2), (1, 26, 2)]


def test_it_stays_a_fixed_number_of_bytes_ahead() -> None:
    size = 4 * AHEAD_BYTES
    files: Any = Asked((0, 0, size))
    ahead, piece = ReadAhead([own(("t0", 0, size // 2))], files), AHEAD_BYTES // 4
    for number in range(size // piece):
        ahead.reads(piece)
        asked = sum(count for _, _, count in files.asked)
        assert asked == min(size, (number + 1) * piece + AHEAD_BYTES)
    assert [begin for _, begin, _ in files.asked] == list(range(0, size, CHUNK_BYTES))


def test_a_file_system_that_refuses_is_not_asked_again() -> None:
    files: Any = Asked((0, 0, 8 * AHEAD_BYTES), refuses_after=2)
    ahead = ReadAhead([own(("t0", 0, 4 * AHEAD_BYTES))], files)
    for _ in range(8):
        ahead.reads(AHEAD_BYTES)
    assert len(files.asked) == 3


def test_a_refusal_of_the_system_is_no_error(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files, path = Files(), tmp_path / "m.safetensors"
    text = b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"abcd")
    files.add(str(path))
    assert files.will_need(0, 8, 4)

    def refuse(*_: int) -> None:
        raise OSError(29, "Illegal seek")

    monkeypatch.setattr(os, "posix_fadvise", refuse)
    assert not files.will_need(0, 8, 4)
    monkeypatch.delattr(os, "posix_fadvise")
    assert not files.will_need(0, 8, 4)
    files.close()


def test_reading_from_files_asks_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    from allranks.worker import cached_reading

    told: list[int] = []
    monkeypatch.setattr(cached_reading, "ReadAhead", lambda *_: SimpleNamespace(reads=told.append))
    monkeypatch.setattr(cached_reading.partition_reading, "compare_samples", lambda *_: None)
    files = SimpleNamespace(paths=[], read=lambda *_: told.append(-1), check_unchanged=lambda: None)
    reading = cached_reading.CachedReading(files, SimpleNamespace(local_rank=0))  # type: ignore[arg-type]
    monkeypatch.setattr(reading, "fill_all", lambda own, scales, tell, read: read("a", 0, memoryview(b"abc")))
    reading.from_files(None, {}, SimpleNamespace(own=[]), 3, None, told.append)  # type: ignore[arg-type]
    assert told == [3, -1]
