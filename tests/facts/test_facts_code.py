"""Digests of code: equal for equal files, different for any change, bounded, and never of data or weights."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from allranks.node import facts
from allranks.node.facts import code


def script_folder(folder: Path) -> Path:
    (folder / "model").mkdir(parents=True)
    (folder / "train.py").write_text("print(1)\n")
    (folder / "model" / "layers.py").write_text("x = 1\n")
    (folder / "ds.json").write_text("{}")
    (folder / "weights.safetensors").write_bytes(b"\0" * 100)
    (folder / ".git").mkdir()
    (folder / ".git" / "hook.py").write_text("different on each clone")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "train.py").write_text("x")
    return folder


def collected(**asked: Any) -> dict[str, Any]:
    found = facts.collect({"families": ["code"], **asked})
    assert found.unreadable == {}
    return found.values["code"]["folders"]


def test_code_is_compared_and_nothing_else(home: Path, tmp_path: Path) -> None:
    one, other = script_folder(tmp_path / "one"), script_folder(tmp_path / "other")
    mine = collected(code={"script": str(one / "train.py")})["script"]
    theirs = collected(code={"script": str(other / "train.py")})["script"]
    assert list(mine["files"]) == ["ds.json", "train.py", "model/layers.py"] and mine["cut"] is False
    assert mine["digest"] == theirs["digest"] and mine["folder"] != theirs["folder"]
    (other / "weights.safetensors").write_bytes(b"\1")
    (other / ".git" / "hook.py").write_text("another")
    assert collected(code={"script": str(other / "train.py")})["script"]["digest"] == mine["digest"]
    (other / "model" / "layers.py").write_text("x = 2\n")
    theirs = collected(code={"script": str(other / "train.py")})["script"]
    differing = [name for name in mine["files"] if mine["files"][name] != theirs["files"][name]]
    assert theirs["digest"] != mine["digest"] and differing == ["model/layers.py"]


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    site = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (tmp_path / "env" / "bin").mkdir()
    return site


def test_the_trainer_is_found_where_it_is_installed(home: Path, environment: Path, tmp_path: Path) -> None:
    python = str(tmp_path / "env" / "bin" / "python")
    assert collected(code={"trainer": True}, python=python) == {"trainer": None}
    (environment / "llamafactory").mkdir()
    (environment / "llamafactory" / "launcher.py").write_text("x")
    found = collected(code={"trainer": True}, python=python)["trainer"]
    assert found["folder"] == str(environment / "llamafactory") and list(found["files"]) == ["launcher.py"]


def test_an_editable_install_is_followed(home: Path, environment: Path, tmp_path: Path) -> None:
    source = tmp_path / "LLaMA-Factory" / "src"
    (source / "llamafactory").mkdir(parents=True)
    (source / "llamafactory" / "launcher.py").write_text("x")
    (environment / "__editable__.llamafactory-0.9.5.pth").write_text(f"{source}\n")
    found = collected(code={"trainer": True}, python=str(tmp_path / "env" / "bin" / "python"))["trainer"]
    assert found["folder"] == str(source / "llamafactory")


def test_a_home_full_of_code_is_cut_and_says_so(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code, "MOST_FILES", 3)
    for number in range(5):
        (tmp_path / f"{number}.py").write_text("x")
    found = collected(code={"script": str(tmp_path / "0.py")})["script"]
    assert found["cut"] is True and list(found["files"]) == ["0.py", "1.py", "2.py"]
    (tmp_path / "0.py").write_bytes(b"x" * (code.MOST_FILE_BYTES + 1))
    assert "0.py" not in collected(code={"script": str(tmp_path / "0.py")})["script"]["files"]


def test_what_cannot_be_read_says_why(home: Path, tmp_path: Path) -> None:
    found = facts.collect({"families": ["code"], "code": {"script": str(tmp_path / "no" / "train.py")}})
    assert "No such file" in found.unreadable["code.folders.script"] and found.values["code"]["folders"] == {}
    (tmp_path / "loop.py").symlink_to("loop.py")
    os.mkfifo(tmp_path / "pipe.py")
    assert collected(code={"script": str(tmp_path / "loop.py")})["script"]["files"] == {}
