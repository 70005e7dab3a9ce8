"""Ranges of safetensors files, and the files that nobody may read from."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path

import pytest

from allranks.worker.byte_origin import ByteOrigin
from allranks.worker.weight_files import CannotRead, Files, Stored

HEADER = {
    "__metadata__": {"format": "pt"},
    "a": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]},
    "b": {"dtype": "U8", "shape": [4], "data_offsets": [12, 16]},
}
VALUES = bytes(range(16))


def written(path: Path, header=HEADER, values: bytes = VALUES) -> str:
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    path.write_bytes(len(text).to_bytes(8, "little") + text + values)
    return str(path)


@pytest.fixture
def files():
    made = Files()
    yield made
    made.close()


def read(files: Files, name: str, first: int, count: int) -> bytes:
    target = bytearray(count)
    files.read(name, first, memoryview(target))
    return bytes(target)


def test_a_range_is_read(tmp_path: Path, files: Files) -> None:
    path = written(tmp_path / "m.safetensors")
    assert files.add(path) == ["a", "b"]
    begin = os.stat(path).st_size - 16
    assert files.tensors["a"] == Stored(0, "BF16", (2, 3), begin, 12)
    assert read(files, "a", 2, 4) == VALUES[2:6] and read(files, "b", 0, 4) == VALUES[12:]
    with pytest.raises(CannotRead):
        read(files, "a", 10, 3)  # the next bytes are another tensor's
    files.check_unchanged()


@pytest.mark.parametrize(
    ("header", "values", "said"),
    [
        (HEADER, VALUES[:-1], "has "),
        (HEADER, VALUES + b"x", "has "),
        (b"{", VALUES, "its header is damaged"),
        (b"[]", VALUES, "its header is damaged"),
        ({"a": {"dtype": "BF16", "shape": [7], "data_offsets": [0, 16]}}, VALUES, "BF16[7] is stored in 16"),
        ({"a": {"dtype": "BF16", "shape": [8], "data_offsets": [16, 0]}}, VALUES, "offsets 16 to 0"),
        ({"a": {"dtype": "BF16", "shape": [8]}}, VALUES, "its header is damaged"),
    ],
)
def test_a_file_that_does_not_add_up_is_not_read(tmp_path: Path, files: Files, header, values, said) -> None:
    with pytest.raises(CannotRead, match=said.replace("[", r"\[")):
        files.add(written(tmp_path / "m.safetensors", header, values))


def test_a_short_file_and_none_are_not_read(tmp_path: Path, files: Files) -> None:
    (tmp_path / "short").write_bytes((1 << 60).to_bytes(8, "little"))
    with pytest.raises(CannotRead, match="cut short"):
        files.add(str(tmp_path / "short"))
    with pytest.raises(CannotRead, match="No such file"):
        files.add(str(tmp_path / "none"))


def test_a_pointer_of_git_lfs_is_called_one(tmp_path: Path, files: Files) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4976698672\n"
    (tmp_path / "model.safetensors").write_text(pointer)
    with pytest.raises(CannotRead, match="is a pointer of Git LFS, not the file itself"):
        files.add(str(tmp_path / "model.safetensors"))


@pytest.mark.parametrize("act", ["cut", "replaced", "written", "gone"])
def test_a_file_that_changes_meanwhile_is_noticed(tmp_path: Path, files: Files, act: str) -> None:
    path = tmp_path / "m.safetensors"
    files.add(written(path))
    if act == "cut":
        os.truncate(path, path.stat().st_size - 4)
        with pytest.raises(CannotRead, match="ended at byte"):
            read(files, "b", 0, 4)
    elif act == "replaced":
        os.replace(written(tmp_path / "other"), path)
    elif act == "written":
        os.utime(path, ns=(1, 1))
    else:
        path.unlink()
    with pytest.raises(CannotRead, match=r"replaced or written|No such file"):
        files.check_unchanged()


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (None, None),
        ('{"weight_map": {"a": "m.safetensors", "x": "other.safetensors"}}', None),
        (
            '{"weight_map": {"c": "m.safetensors"}}',
            "m.safetensors does not hold c, which model.safetensors.index.json promises",
        ),
        ('{"weight_map": [1]}', "model.safetensors.index.json: "),
        ("{", "model.safetensors.index.json: "),
    ],
)
def test_an_index_of_another_version(
    tmp_path: Path, files: Files, index: str | None, said: str | None
) -> None:
    files.add(written(tmp_path / "m.safetensors"))
    if index is not None:
        (tmp_path / "model.safetensors.index.json").write_text(index)
    if said is None:
        files.check_index(lambda name: True)
        return
    with pytest.raises(CannotRead, match=re.escape(said)):
        files.check_index(lambda name: True)
    if "promises" in said:
        files.check_index(lambda name: name != "c")  # the model wants no c


def test_copies_are_told_apart_by_their_values(tmp_path: Path) -> None:
    digests = []
    for number, values in enumerate((VALUES, VALUES, VALUES[:-1] + b"\0")):
        files = Files()
        digests.append(files.sample(files.add(written(tmp_path / f"{number}.safetensors", values=values))))
        files.close()
    assert digests[0] == digests[1] != digests[2]


def test_a_read_that_fails_is_tried_again_and_told(tmp_path: Path, files: Files, monkeypatch) -> None:
    waited, left = [], [errno.EIO, errno.ESTALE]
    real = os.preadv

    def preadv(*args) -> int:
        if left:
            raise OSError(left[0], os.strerror(left.pop(0)))
        return real(*args)

    files.add(written(tmp_path / "m.safetensors"))
    monkeypatch.setattr(os, "preadv", preadv)
    monkeypatch.setattr("allranks.worker.weight_files.time.sleep", waited.append)
    assert read(files, "a", 0, 12) == VALUES[:12]
    assert waited == [1.0, 2.0] and files.retries == 2 and files.error.endswith("Stale file handle")
    left.extend([errno.EIO] * 9)
    with pytest.raises(CannotRead, match="Input/output error"):
        read(files, "a", 0, 12)
    assert len(waited) == 5
    left[:] = [errno.EACCES]
    with pytest.raises(CannotRead, match="Permission denied"):
        read(files, "a", 0, 12)
    assert len(waited) == 5


def test_where_bytes_come_from(tmp_path: Path) -> None:
    told = tmp_path / "io"
    told.write_text("rchar: 9\nread_bytes: 1000\n")
    origin = ByteOrigin(str(told))
    assert origin.source(0) == ""
    told.write_text("rchar: 9\nread_bytes: 1499\n")
    assert origin.source(1000) == "memory" and origin.source(998) == "storage"
    told.unlink()
    assert origin.source(1000) == "" == ByteOrigin(str(told)).source(1)
