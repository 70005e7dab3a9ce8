"""Locks of torch's extension builds: held by a living builder, left behind by a killed one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from allranks.core import extensions as words
from allranks.node import facts
from allranks.node.facts import extensions

# As torch 2.13's utils/file_baton.py takes it.
BUILDER = "import os, sys; fd = os.open(sys.argv[1], os.O_CREAT | os.O_EXCL); print(1, flush=True); sys.stdin.read()"


def collected(folder: Path) -> list[dict]:
    request = {
        "families": ["extensions"],
        "python": sys.executable,
        "env": {"TORCH_EXTENSIONS_DIR": str(folder)},
    }
    found = facts.collect(request)
    assert found.unreadable == {}
    return found.values["extensions"]["locks"]


def test_a_lock_is_its_builders_until_it_is_killed(home: Path, tmp_path: Path) -> None:
    build = tmp_path / "extensions" / "py311_cpu" / "deepspeed_shm_comm"
    build.mkdir(parents=True)
    path = build / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", BUILDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as builder:
        try:
            assert builder.stdout and builder.stdout.readline()
            (lock,) = collected(tmp_path / "extensions")
            assert [holder["pid"] for holder in lock["held_by"]] == [builder.pid]
            assert (lock["name"], lock["build"], lock["path"]) == (
                "deepspeed_shm_comm",
                "py311_cpu",
                str(path),
            )
        finally:
            builder.kill()
    (lock,) = collected(tmp_path / "extensions")
    assert lock["held_by"] == [] and lock["sure"] is True and lock["uid"] == os.geteuid()
    assert 0 <= lock["age_seconds"] < 600 and lock["type"]


def test_a_folder_of_the_users_choice_has_the_operators_right_below_it(home: Path, tmp_path: Path) -> None:
    (tmp_path / "own" / "cpu_adam").mkdir(parents=True)
    (tmp_path / "own" / "cpu_adam" / "lock").touch()
    (lock,) = collected(tmp_path / "own")
    assert (lock["name"], lock["build"]) == ("cpu_adam", None)


def test_no_folder_is_no_lock(home: Path, tmp_path: Path) -> None:
    assert collected(tmp_path / "nothing") == []


def test_the_ranks_build_where_we_look(home: Path, tmp_path: Path) -> None:
    def root(**env: str) -> str | None:
        return extensions.root({"python": sys.executable, "env": env})

    assert root(TORCH_EXTENSIONS_DIR="/x/../y") == "/y"
    assert root() == words.folder(str(home / "cache"))


def test_an_environment_without_torch_has_no_operators(home: Path, tmp_path: Path) -> None:
    python = Path(sys.base_prefix) / "bin" / "python3"
    found = facts.collect({"families": ["extensions"], "python": str(python), "env": {}})
    assert found.values["extensions"] == {"folder": None, "locks": []} and found.unreadable == {}


def test_a_python_that_does_not_answer_is_said(home: Path) -> None:
    found = facts.collect({"families": ["extensions"], "python": "/no/such/python", "env": {}})
    assert set(found.unreadable) == {"extensions.folder", "extensions.locks"}


def test_an_image_s_cache_is_not_the_host_s(home: Path) -> None:
    found = facts.collect({"families": ["extensions"], "python": None})
    assert found.values["extensions"] == {"folder": None, "locks": []}


def test_another_user_s_lock_is_not_called_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu_adam").mkdir()
    (tmp_path / "cpu_adam" / "lock").touch()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 4711)
    assert [lock["sure"] for lock in extensions.locks(str(tmp_path))] == [False]
