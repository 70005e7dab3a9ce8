"""Environments that one clone made and another one takes: scripts/environments.py, which scripts/setup.sh calls."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.which import ROOT

A, B, C = "a" * 64, "b" * 64, "c" * 64


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "allranks" / "environments"


def call(verb: str, place: Path, digest: str = A) -> int:
    words = [sys.executable, str(ROOT / "scripts" / "environments.py"), verb, str(place), digest]
    return subprocess.run(words, timeout=60).returncode


def made(place: Path) -> Path:
    """An environment with a package, and a program that says which Python runs it."""
    venv.create(place, with_pip=False, symlinks=True)
    packages = next(place.glob("lib/python3*/site-packages"))
    (packages / "thing.py").write_text("VALUE = 1\n")
    program = place / "bin" / "say"
    program.write_text(f"#!{place}/bin/python\nimport sys, thing\nprint(sys.prefix, thing.VALUE)\n")
    program.chmod(0o755)
    return place


def says(place: Path) -> str:
    return subprocess.run([place / "bin" / "say"], capture_output=True, text=True, timeout=60).stdout.strip()


def test_another_clone_takes_it_and_neither_changes_the_other(cache: Path, tmp_path: Path) -> None:
    first, second = made(tmp_path / "first" / ".venv"), tmp_path / "second clone" / ".venv"
    assert call("keep", first) == 0
    second.parent.mkdir()
    assert call("take", second) == 0
    # a blank in the path: no kernel takes that #!, so it is started as `python FILE`
    done = subprocess.run([second / "bin" / "python", second / "bin" / "say"], capture_output=True, text=True)
    assert done.stdout.split() == [*str(second).split(), "1"]
    assert says(first) == f"{first} 1"
    assert str(first) not in (second / "bin" / "activate").read_text() + (second / "bin" / "say").read_text()

    module = next(second.glob("lib/python3*/site-packages/thing.py"))
    module.unlink()  # as pip replaces a file
    module.write_text("VALUE = 2\n")
    third = tmp_path / "third"
    assert call("take", third) == 0 and says(third) == f"{third} 1" and says(first) == f"{first} 1"


def test_without_one_nothing_is_made(cache: Path, tmp_path: Path) -> None:
    assert call("take", tmp_path / ".venv") == 1
    assert not (tmp_path / ".venv").exists() and not (tmp_path / ".venv.new").exists()


def test_one_that_does_not_start_is_not_left_there(cache: Path, tmp_path: Path) -> None:
    call("keep", made(tmp_path / "first"))
    (cache / A / "bin" / "python").unlink()
    (cache / A / "bin" / "python").symlink_to("/nowhere/python3")
    assert call("take", tmp_path / "second") == 1
    assert not (tmp_path / "second").exists()


def test_what_a_killed_clone_left_is_not_taken_and_goes(cache: Path, tmp_path: Path) -> None:
    first = made(tmp_path / "first")
    half = cache / f"{A}.new"
    half.mkdir(parents=True)
    assert call("take", tmp_path / "second") == 1
    assert call("keep", first) == 0
    assert not half.exists() and call("take", tmp_path / "second") == 0


def test_the_newest_two_stay(cache: Path, tmp_path: Path) -> None:
    first = made(tmp_path / "first")
    for number, digest in enumerate((A, B)):
        call("keep", first, digest)
        os.utime(cache / digest, (number, number))
    call("take", tmp_path / "second", A)  # and so A is newer than B
    call("keep", first, C)
    assert {one.name for one in cache.iterdir()} == {A, C, "lock"}


def test_two_clones_at_once(cache: Path, tmp_path: Path) -> None:
    places = [made(tmp_path / f"clone-{number}") for number in range(4)]
    words = [sys.executable, str(ROOT / "scripts" / "environments.py"), "keep"]
    begun = [subprocess.Popen([*words, str(place), A]) for place in places]
    assert [one.wait(60) for one in begun] == [0] * 4
    assert call("take", tmp_path / "fifth") == 0 and says(tmp_path / "fifth") == f"{tmp_path / 'fifth'} 1"
