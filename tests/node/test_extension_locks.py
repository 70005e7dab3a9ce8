"""torch's lock of an operator that a rank was compiling when it was ended: it goes with the run, a stranger's stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from allranks.node import extension_locks, paths, processes, sweep

SOURCE = str(Path(paths.__file__).resolve().parents[2])
EXTENSION = """
import os, time
class FileBaton:
    def __init__(self, lock_file_path):
        self.lock_file_path, self.fd = lock_file_path, None
    def try_acquire(self):
        try:
            self.fd = os.open(self.lock_file_path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        return True
    def wait(self):
        while os.path.exists(self.lock_file_path):
            time.sleep(0.05)
    def release(self):
        os.close(self.fd)
        os.remove(self.lock_file_path)
def load(name):
    folder = os.path.join(os.environ["TORCH_EXTENSIONS_DIR"], name)
    os.makedirs(folder, exist_ok=True)
    baton = FileBaton(os.path.join(folder, "lock"))
    if not baton.try_acquire():
        return baton.wait()
    if name != "quick":
        time.sleep(600)
    baton.release()
"""
"""In the place of torch.utils.cpp_extension: as torch 2.13 takes its lock, with a compiler that does not end."""

RANK = """
import sys
sys.path[:0] = sys.argv[1:3]
from allranks.worker.activation import activate
activate()
import torch, torch.utils.cpp_extension
print(torch.utils.cpp_extension.load("quick"), flush=True)
torch.utils.cpp_extension.load("slow")
"""


@pytest.fixture
def compiling(field, tmp_path: Path):
    """A run whose rank compiles: the lock that it has made."""
    for folder in ("torch", "torch/utils"):
        (tmp_path / "fake" / folder).mkdir(parents=True)
        (tmp_path / "fake" / folder / "__init__.py").touch()
    (tmp_path / "fake" / "torch" / "utils" / "cpp_extension.py").write_text(EXTENSION)
    operators = tmp_path / "operators"
    words = [sys.executable, "-c", RANK, str(tmp_path / "fake"), SOURCE]
    env = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "TORCH_EXTENSIONS_DIR": str(operators)}
    field.supervise(words, env=env)
    lock = operators / "slow" / "lock"
    record = Path(field.node.root) / extension_locks.NAME
    field.until(lambda: record.exists() and str(lock) in record.read_text(), "the record of the lock")
    assert lock.exists() and not (operators / "quick" / "lock").exists()
    return lock


def test_a_lock_goes_with_the_ranks_that_are_stopped(field, compiling: Path) -> None:
    stranger = compiling.parent.parent / "other" / "lock"
    stranger.parent.mkdir()
    stranger.touch()
    field.say(stop=0.4, why="asked")

    swept = field.wait_for("swept")["data"]

    assert swept["left"] == [] and str(compiling) in swept["files"]
    assert not compiling.exists() and stranger.exists()


@pytest.mark.lengthy
def test_clean_finds_the_lock_that_a_killed_supervisor_left(field, compiling: Path) -> None:
    field.supervisor.kill()
    field.supervisor.wait(40)
    record = Path(field.node.root) / extension_locks.NAME
    makers = [json.loads(line)["pid"] for line in record.read_text().splitlines()]
    assert makers
    field.until(lambda: not any(map(processes.read_stat, makers)), "the ranks are gone")

    assert str(compiling) in sweep.sweep(field.run_id, dry_run=True)["files"] and compiling.exists()
    assert str(compiling) in sweep.sweep(field.run_id)["files"] and not compiling.exists()


# ---- whose a lock is ----


class Made:
    """A lock, the process that made it and has it open, and what it wrote down."""

    def __init__(self, path: Path):
        script = "import os, sys; os.open(sys.argv[1], os.O_CREAT); print(1, flush=True); sys.stdin.read()"
        self.child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", script, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.child.stdout and self.child.stdout.readline()
        found, stat = path.stat(), processes.read_stat(self.child.pid)
        assert stat is not None
        self.line = {
            "path": str(path),
            "device": found.st_dev,
            "inode": found.st_ino,
            "made_ns": found.st_mtime_ns,
            "node": "node-0",
            "pid": stat.pid,
            "start_time": stat.start_time,
            "boot_id": processes.boot_id(),
            "pid_namespace": processes.pid_namespace(),
            "host": os.uname().nodename,
            "run_id": "r",
        }

    def end(self) -> None:
        self.child.kill()
        self.child.communicate()


@pytest.fixture
def lock(tmp_path: Path):
    path = tmp_path / "op" / "lock"
    path.parent.mkdir()
    made = Made(path)
    yield path, made
    made.end()


def left(line: dict, **more) -> list[str]:
    return extension_locks.left([{**line, **more}], os.getuid())


def test_a_lock_is_left_when_its_maker_is_dead(lock) -> None:
    path, made = lock
    assert left(made.line) == []
    made.end()
    assert left(made.line) == [str(path)]


def test_another_file_of_that_name_is_not_ours(lock) -> None:
    path, made = lock
    made.end()
    keep = path.stat()
    for change in (
        {"inode": keep.st_ino + 1},
        {"device": keep.st_dev + 1},
        {"made_ns": keep.st_mtime_ns - 1},  # the number of an inode comes again, its time does not
        {"host": "another"},
        {"pid_namespace": "pid:[1]"},
        {"pid": os.getpid(), "start_time": processes.read_stat(os.getpid()).start_time},
        {"path": str(path.parent / "key")},
        {"path": "op/lock"},
        {"path": 7},
        {"pid": None},
        {"device": "x"},
    ):
        assert left(made.line, **change) == [], change
    assert extension_locks.left([made.line], os.getuid() + 1) == []
    assert extension_locks.left([{**made.line, "host": "another"}], os.getuid(), is_gone=True) == [str(path)]


def test_a_lock_that_somebody_has_open_stays(lock) -> None:
    path, made = lock
    made.end()
    with open(path):
        assert left(made.line) == []
    assert left(made.line) == [str(path)]


def test_a_file_with_content_or_a_second_name_stays(lock) -> None:
    path, made = lock
    made.end()
    os.link(path, path.parent / "second")
    assert left(made.line) == []
    (path.parent / "second").unlink()
    stamp = path.stat().st_mtime_ns
    path.write_text("theirs")
    os.utime(path, ns=(stamp, stamp))
    assert left(made.line) == []


def test_a_link_is_not_followed(lock) -> None:
    path, made = lock
    made.end()
    os.rename(path, path.parent / "moved")
    path.symlink_to(path.parent / "moved")
    assert left(made.line) == []


def test_garbage_in_the_record_is_no_trouble(field, tmp_path: Path) -> None:
    field.directory.create(node="node-0")
    Path(field.node.root, extension_locks.NAME).write_text(
        '[]\n{"path": null}\nnonsense\n' + json.dumps({}) + "\n"
    )
    assert sweep.sweep(field.run_id)["files"] == []
