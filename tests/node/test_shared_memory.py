"""Whose a file in /dev/shm is, with real processes that map real files."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from allranks.node.shared_memory import FOLDER, SharedMemory, key_of, left

BOOT = "this-boot"
HOLD = """
import mmap, os, sys
path, how = sys.argv[1:]
descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
os.ftruncate(descriptor, 4096)
if how == "mapped":
    kept = mmap.mmap(descriptor, 4096)
    os.close(descriptor)
print("ready", flush=True)
sys.stdin.read()
"""
Hold = Callable[..., subprocess.Popen]


@pytest.fixture
def path() -> Iterator[str]:
    name = f"{FOLDER}/allranks-test-{uuid.uuid4().hex}"
    yield name
    Path(name).unlink(missing_ok=True)


@pytest.fixture
def hold() -> Iterator[Hold]:
    """Starts a process that makes and holds a file, `mapped` or `open`, until it is killed."""
    started = []

    def start(path: str, how: str = "mapped") -> subprocess.Popen:
        words = [sys.executable, "-c", HOLD, path, how]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen) -> None:
    process.kill()
    process.communicate()


@pytest.mark.parametrize("how", ["mapped", "open"])
def test_what_a_killed_process_of_the_run_leaves_goes(
    tmp_path: Path, path: str, hold: Hold, how: str
) -> None:
    memory = SharedMemory(str(tmp_path / "seen"), BOOT)
    ours = hold(path, how)
    memory.scan([ours.pid])
    assert memory.free(os.getuid()) == []  # it lives
    ended(ours)
    assert memory.free(os.getuid() + 1) == []  # another user's
    assert memory.free(os.getuid()) == [path]
    assert not Path(path).exists()


def test_what_was_there_before_the_run_stays(tmp_path: Path, path: str, hold: Hold) -> None:
    Path(path).touch()
    memory = SharedMemory(str(tmp_path / "seen"), BOOT)
    ours = hold(path)
    memory.scan([ours.pid])
    ended(ours)
    assert memory.free(os.getuid()) == []


def test_what_a_stranger_uses_too_stays(tmp_path: Path, path: str, hold: Hold) -> None:
    memory = SharedMemory(str(tmp_path / "seen"), BOOT)
    stranger = hold(path)
    ours = hold(path)
    memory.scan([ours.pid])
    ended(ours)
    ended(stranger)
    assert memory.free(os.getuid()) == []


def test_what_a_stranger_took_over_stays_as_long_as_it_uses_it(tmp_path: Path, path: str, hold: Hold) -> None:
    memory = SharedMemory(str(tmp_path / "seen"), BOOT)
    ours = hold(path)
    memory.scan([ours.pid])
    stranger = hold(path, "open")
    ended(ours)
    assert memory.free(os.getuid()) == []
    ended(stranger)
    assert memory.free(os.getuid()) == [path]


def test_a_file_stays_in_use_though_its_user_closes_another_one_meanwhile(
    tmp_path: Path, path: str, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = SharedMemory(str(tmp_path / "seen"), BOOT)
    ours = hold(path)
    memory.scan([ours.pid])
    stranger = hold(path, "open")
    ended(ours)
    listed = os.listdir
    closed = f"/proc/{stranger.pid}/fd"  # lists a descriptor that is closed before it is read
    monkeypatch.setattr(os, "listdir", lambda p: ["99999", *listed(p)] if p == closed else listed(p))
    assert memory.free(os.getuid()) == []


def test_a_stranger_with_the_same_name_and_nothing_else_stays(tmp_path: Path, path: str, hold: Hold) -> None:
    memory = SharedMemory(str(tmp_path / "seen"), BOOT)
    memory.scan([])
    ended(hold(path))
    assert memory.free(os.getuid()) == []
    key = key_of(path)
    assert key is not None
    record = {"path": path, "device": key[0], "inode": key[1], "boot_id": BOOT}
    assert left([record], BOOT, os.getuid()) == [path]
    for change in ({"inode": key[1] + 1}, {"boot_id": "another"}, {"path": "/etc/passwd"}, {"path": 7}):
        assert left([{**record, **change}], BOOT, os.getuid()) == []
    os.link(path, path + "-second")
    try:
        assert left([record], BOOT, os.getuid()) == []
    finally:
        Path(path + "-second").unlink()
