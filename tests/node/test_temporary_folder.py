"""Temporary files and sockets of ranks: in a folder of the run's, which goes with it; a stranger's stay."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from allranks.node import paths, sweep, temporary_folder
from allranks.node.temporary_folder import INDUCTOR, LONGEST_BYTES, TemporaryFolder
from tests.harness import until

LEAVES = """
import multiprocessing.connection, os, sys, tempfile, time
folder = tempfile.mkdtemp(prefix="torchelastic_")
open(os.path.join(folder, "error.json"), "w").close()
socket = multiprocessing.connection.Listener(family="AF_UNIX")
os.symlink(sys.argv[2], os.path.join(folder, "link"))
with open(sys.argv[1] + ".new", "w") as file:
    file.write("\\n".join([folder, socket.address]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch):
    """A short TMPDIR, as sockets need it, with what a stranger has in it."""
    path = Path(tempfile.mkdtemp(prefix="t-", dir="/tmp"))
    for name in ("torchelastic_stranger", "allranks-0123456789ab"):
        (path / name).mkdir()
        (path / name / "theirs").write_text("theirs")
    monkeypatch.setenv("TMPDIR", str(path))
    yield path
    shutil.rmtree(path)


def left_by_ranks(field, base: Path) -> tuple[str, list[str]]:
    """A run that has made a folder and a socket; the run's own temporary folder, and what was made."""
    outside = base / "outside"
    outside.mkdir()
    (outside / "theirs").write_text("theirs")
    said = Path(field.node.work) / "made"
    field.supervise([sys.executable, "-c", LEAVES, str(said), str(outside)])
    field.wait_for("torchrun")
    until(said.exists)
    made = said.read_text().split()
    own = TemporaryFolder(field.node).path(os.geteuid())
    assert own is not None and all(path.startswith(own + "/") and os.path.lexists(path) for path in made)
    assert os.stat(own).st_mode & 0o777 == 0o700
    return own, made


def strangers_stand(base: Path) -> bool:
    names = ("torchelastic_stranger", "allranks-0123456789ab", "outside")
    return sorted(os.listdir(base)) == sorted(names) and all((base / n / "theirs").exists() for n in names)


def test_what_the_ranks_made_goes_when_they_are_stopped(field, base: Path) -> None:
    own, _made = left_by_ranks(field, base)
    field.say(stop=0.1)
    assert own in field.wait_for("swept")["data"]["files"]
    assert strangers_stand(base)


def test_a_sweep_removes_it_after_a_killed_supervisor(field, base: Path) -> None:
    own, made = left_by_ranks(field, base)
    field.supervisor.kill()
    field.supervisor.wait()
    assert own in sweep.sweep(field.run_id, dry_run=True)["files"] and os.path.lexists(made[1])
    assert own in sweep.sweep(field.run_id)["files"]
    assert strangers_stand(base)
    assert own not in sweep.sweep(field.run_id)["files"]


def node_of(run_id: str) -> paths.NodeDirectory:
    directory = paths.RunDirectory(run_id)
    directory.create(node="node-0")
    return directory.node("node-0")


def test_another_folder_in_its_place_is_not_the_runs(home, base: Path) -> None:
    one = TemporaryFolder(node_of("r-replaced"))
    own = one.environment(os.environ, {})["TMPDIR"]
    (base / "theirs").mkdir()
    os.rename(base / "theirs", own)  # over the empty one
    (Path(own) / "precious").write_text("x")
    assert one.path(os.geteuid()) is None and one.remove(os.geteuid()) is None
    assert os.path.exists(own + "/precious")
    assert TemporaryFolder(node_of("r-replaced")).environment(os.environ, {}) == {}, (
        "nor is it taken for the run's"
    )


def test_a_folder_that_somebody_made_before_is_not_used(home, base: Path) -> None:
    one = TemporaryFolder(node_of("r-before"))
    os.symlink("/etc", base / one._name)
    assert one.environment(os.environ, {}) == {}


def test_a_said_tmpdir_holds_and_a_long_one_stays_as_it_is(home, base: Path) -> None:
    one = TemporaryFolder(node_of("r-said"))
    assert one.environment({"TMPDIR": "/scratch"}, {"TMPDIR": "/scratch"}) == {}
    long = base / ("x" * LONGEST_BYTES)
    long.mkdir()
    assert one.environment({"TMPDIR": str(long)}, {}) == {}


def test_compiled_kernels_stay_for_the_next_run(home, base: Path) -> None:
    one = TemporaryFolder(node_of("r-kernels"))
    more = one.environment({"TMPDIR": str(base)}, {})
    assert os.path.dirname(more[INDUCTOR]) == str(base)
    assert one.environment({"TMPDIR": str(base), INDUCTOR: "/cache"}, {}) == {"TMPDIR": more["TMPDIR"]}


def test_storage_that_hangs_holds_nobody_up(home, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = TemporaryFolder(node_of("r-hangs"))
    own = one.environment({"TMPDIR": str(base)}, {})["TMPDIR"]
    answers = threading.Event()
    remove = temporary_folder.remove_tree
    monkeypatch.setattr(temporary_folder, "remove_tree", lambda *where: answers.wait(60) and remove(*where))
    assert one.remove(os.geteuid(), 0.1) is None and os.path.exists(own)
    assert one.environment({"TMPDIR": str(base)}, {}) == {}, "what is being removed is nobody's TMPDIR"
    answers.set()
    until(lambda: not os.path.exists(own))


def test_a_folder_that_cannot_be_written_down_is_not_left(
    home, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: str, value: object) -> None:
        raise OSError(28, "No space left on device")

    one = TemporaryFolder(node_of("r-full"))
    before = sorted(os.listdir(base))
    with monkeypatch.context() as patched:
        patched.setattr(temporary_folder, "write_json", full)
        assert one.environment({"TMPDIR": str(base)}, {}) == {}
    assert sorted(os.listdir(base)) == before
    assert one.environment({"TMPDIR": str(base)}, {})["TMPDIR"]
