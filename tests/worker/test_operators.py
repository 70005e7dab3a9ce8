"""Operators that torch compiles in a rank: what is told of them, and the folder that an environment has of its own."""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path

import pytest

from allranks.core import extensions
from allranks.worker import compilation, guard, heartbeat, operators, rank_identity
from allranks.worker.rank_reporter import Rank


@pytest.fixture
def rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rank:
    monkeypatch.setattr(guard, "TROUBLE", [])
    (tmp_path / "ranks").mkdir()
    found = rank_identity.here(
        {
            "ALLRANKS_RUN_ID": "r",
            "RANK": "0",
            "LOCAL_RANK": "0",
            "ALLRANKS_RANKS_DIR": str(tmp_path / "ranks"),
        }
    )
    assert found is not None
    return Rank(found)


class FileBaton:
    def __init__(self, lock_file_path: str):
        self.lock_file_path = lock_file_path

    def try_acquire(self) -> bool:
        if os.path.exists(self.lock_file_path):
            return False
        Path(self.lock_file_path).touch()
        return True

    def wait(self) -> None:
        self.seen = self.look()

    def look(self) -> object:
        return None


def test_what_is_compiled_is_told_and_who_waits_for_it(rank: Rank) -> None:
    beats = []

    def load(name: str) -> None:
        beats.append(heartbeat.beat(rank, []).operator)
        FileBaton("x").wait()
        beats.append(heartbeat.beat(rank, []).operator)

    baton = type("FileBaton", (FileBaton,), {})
    module = types.SimpleNamespace(load=load, FileBaton=baton)
    compilation.on_extensions(rank, module)
    globals_baton, globals()["FileBaton"] = FileBaton, baton
    try:
        module.load(name="cpu_adam")
    finally:
        globals()["FileBaton"] = globals_baton

    assert beats == [{"name": "cpu_adam", "waits": False}, {"name": "cpu_adam", "waits": True}]
    assert rank.operator is None and heartbeat.beat(rank, []).operator is None and guard.TROUBLE == []


def test_only_a_lock_that_this_rank_has_made_is_written_down(rank: Rank, tmp_path: Path) -> None:
    baton = type("FileBaton", (FileBaton,), {})
    operators.on_baton(rank, baton)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "lock").touch()
    (tmp_path / "ours").mkdir()

    assert baton(str(tmp_path / "theirs" / "lock")).try_acquire() is False
    assert baton(str(tmp_path / "ours" / "lock")).try_acquire() is True

    (line,) = [json.loads(text) for text in (tmp_path / operators.RECORD).read_text().splitlines()]
    made = (tmp_path / "ours" / "lock").stat()
    assert (line["path"], line["inode"], line["made_ns"]) == (
        str(tmp_path / "ours" / "lock"), made.st_ino, made.st_mtime_ns,
    )  # fmt: skip
    assert line["pid"] == os.getpid() and guard.TROUBLE == []


def test_a_record_that_cannot_be_written_is_no_trouble_for_the_build(rank: Rank, tmp_path: Path) -> None:
    baton = type("FileBaton", (FileBaton,), {})
    operators.on_baton(rank, baton)
    (tmp_path / operators.RECORD).mkdir()

    assert baton(str(tmp_path / "lock")).try_acquire() is True
    assert len(guard.TROUBLE) == 1


# ---- the folder ----


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes the folder of a training environment with torch in it, and has this Python find that."""

    def make(name: str, torch: str = "2.13.0", deepspeed: str = "0.19.1") -> Path:
        packages = tmp_path / name / "lib" / "python3.11" / "site-packages"
        for package, file, text in (
            ("torch", "version.py", torch),
            ("deepspeed", "git_version_info_installed.py", deepspeed),
        ):
            (packages / package).mkdir(parents=True, exist_ok=True)
            (packages / package / "__init__.py").touch()
            (packages / package / file).write_text(f"version='{text}'\n")
        monkeypatch.setattr(sys, "path", [str(packages)])
        return tmp_path / name

    return make


def test_each_environment_and_each_version_has_a_folder_of_its_own(environment) -> None:
    environment("one")
    first = extensions.folder("/home/cache")
    assert first == extensions.folder("/home/cache")
    assert first is not None and os.path.dirname(first) == "/home/cache/torch_extensions"
    found = {first}
    for words in (("two",), ("one", "2.14.0"), ("one", "2.13.0", "0.20.0")):
        environment(*words)
        found.add(extensions.folder("/home/cache"))
    assert len(found) == 4


def test_a_folder_that_lies_in_the_environment_is_used(environment) -> None:
    own = environment("one") / "torch_extensions"
    own.mkdir()
    assert os.path.dirname(str(extensions.folder("/home/cache"))) == str(own)


def test_what_another_user_made_in_the_environment_is_not(
    environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    (environment("one") / "torch_extensions").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 4711)
    assert str(extensions.folder("/home/cache")).startswith("/home/cache/")


def test_a_rank_gets_it_unless_the_user_names_one(environment, monkeypatch: pytest.MonkeyPatch) -> None:
    environment("one")
    monkeypatch.setenv(extensions.CACHE, "/home/cache")
    monkeypatch.setenv(extensions.VARIABLE, "/mine")
    operators.own_folder()
    assert os.environ[extensions.VARIABLE] == "/mine"

    monkeypatch.delenv(extensions.VARIABLE)
    operators.own_folder()
    assert os.environ[extensions.VARIABLE] == extensions.folder("/home/cache")


def test_without_torch_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert extensions.folder("/home/cache") is None
