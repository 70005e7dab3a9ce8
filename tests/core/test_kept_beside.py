"""Values that are kept beside a module, as Python keeps its compiled code."""

from __future__ import annotations

import os
import py_compile
import sys
from pathlib import Path

import pytest

from allranks.core.kept_beside import kept, key_of


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    path = tmp_path / "apple.py"
    path.write_text("")
    return str(path)


class Maker:
    """Counts how often the value is made."""

    def __init__(self, value: bytes) -> None:
        self.value, self.times = value, 0

    def __call__(self) -> bytes:
        self.times += 1
        return self.value


def of(module: str, make: Maker, key: bytes = b"k" * 32) -> bytes:
    return kept(module, "juice", key, make)


def file_of(module: str) -> Path:
    (found,) = (Path(module).parent / "__pycache__").iterdir()
    return found


def test_it_is_made_once_for_a_key(module: str) -> None:
    make = Maker(b"red\0green")
    assert [of(module, make) for _ in range(3)] == [b"red\0green"] * 3
    assert make.times == 1
    other = Maker(b"yellow")
    assert of(module, other, b"o" * 32) == b"yellow" and of(module, make) == b"red\0green"
    assert (make.times, other.times) == (2, 1)


def test_it_is_where_python_keeps_its_compiled_code(module: str) -> None:
    of(module, Maker(b"red"))
    ours = file_of(module)
    compiled = Path(py_compile.compile(module, doraise=True) or "")
    assert ours.parent == compiled.parent and ours.name == compiled.stem + ".juice"
    assert ours.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("end", [0, 10, 36, 38])
def test_a_file_that_was_cut_short_is_made_again(module: str, end: int) -> None:
    make = Maker(b"red")
    of(module, make)
    whole = file_of(module).read_bytes()
    file_of(module).write_bytes(whole[:end])
    assert of(module, make) == b"red" and make.times == 2
    assert file_of(module).read_bytes() == whole


def test_a_file_with_other_bytes_is_made_again(module: str) -> None:
    make = Maker(b"red")
    of(module, make)
    file = file_of(module)
    file.write_bytes(file.read_bytes()[:-1] + b"k")
    assert of(module, make) == b"red" and make.times == 2


def test_nothing_is_written_if_python_may_not_write(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert of(module, Maker(b"red")) == b"red"
    assert os.listdir(Path(module).parent) == ["apple.py"]


def test_nothing_is_written_for_a_module_in_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(b"")
    assert of(str(bundle / "apple.py"), Maker(b"red")) == b"red"
    assert os.listdir(tmp_path) == ["bundle.zip"]


def test_a_folder_that_cannot_be_written_changes_nothing(module: str) -> None:
    (Path(module).parent / "__pycache__").write_text("a file of this name")
    make = Maker(b"red")
    assert of(module, make) == b"red" and of(module, make) == b"red" and make.times == 2


def test_a_failed_write_leaves_no_draft(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert of(module, Maker(b"red")) == b"red"
    assert os.listdir(Path(module).parent / "__pycache__") == []


def test_the_prefix_for_compiled_code_counts(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "elsewhere"))
    make = Maker(b"red")
    of(module, make)
    of(module, make)
    assert make.times == 1 and not (Path(module).parent / "__pycache__").exists()
    assert [one.name.rpartition(".")[2] for one in (tmp_path / "elsewhere").rglob("apple*")] == ["juice"]


def test_keys_tell_their_parts_apart() -> None:
    parts = [(b"ab", b"c"), (b"a", b"bc"), (b"abc",), (b"abc", b""), ()]
    assert len({key_of(*one) for one in parts}) == len(parts)
    assert all(len(key_of(*one)) == 32 for one in parts)
