"""Disks that are really full, really frozen, or in the way, below a run that trains: it goes on, or says why not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import until
from tests.harness.desk import Desk

pytestmark = [
    pytest.mark.training,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root"),
]
LIMIT = 180.0


class Disk:
    """A small file system that fills up or freezes when a test says so."""

    def __init__(self, path: Path, *mount: str):
        self.path, self.is_frozen = path, False
        path.mkdir()
        self.do("mount", *mount, str(path))

    def do(self, *words: str) -> bool:
        return subprocess.run(words, timeout=60).returncode == 0

    def no_bytes(self) -> None:
        """Not a byte more fits than is used now; tmpfs refuses where something was written meanwhile."""
        used = os.statvfs(self.path)
        self.do(
            "mount", "-o", f"remount,size={(used.f_blocks - used.f_bfree) * used.f_bsize}", str(self.path)
        )

    def no_files(self) -> None:
        """There are bytes, as `statvfs` says, and yet nothing new can be made; a quota looks so too."""
        used = os.statvfs(self.path)
        self.do("mount", "-o", f"remount,nr_inodes={used.f_files - used.f_ffree}", str(self.path))

    def has_room(self) -> None:
        assert self.do("mount", "-o", "remount,size=4g,nr_inodes=100000", str(self.path))

    def freeze(self) -> None:
        """Every write hangs in the kernel, where no signal reaches it."""
        assert self.do("fsfreeze", "-f", str(self.path))
        self.is_frozen = True

    def thaw(self) -> None:
        assert self.do("fsfreeze", "-u", str(self.path))
        self.is_frozen = False

    def leave(self) -> None:
        if self.is_frozen:
            self.thaw()
        until(
            lambda: self.do("umount", str(self.path)), self.path, LIMIT, 0.5
        )  # what hung there writes to its end


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path / "small", "-t", "tmpfs", "-o", "size=4g,nr_inodes=100000", "small")
    yield disk
    disk.leave()


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Disk]:
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True, timeout=60)
    disk = Disk(tmp_path / "shared", "-o", "loop", str(image))
    yield disk
    disk.leave()


class Trained:
    """A run of `saving_loop.py` that goes on until somebody ends it."""

    def __init__(self, runner: Desk, to: Path, *arguments: object, **save: Any):
        self.runner = runner
        self.file = runner.saving(*arguments, save={"to": str(to), "keep": 4, **save})
        self.id = ""

    def start(self, *words: str) -> None:
        self.id = self.runner.run(self.file, "--detach", *words, code=0)["id"]

    def state(self) -> dict[str, Any]:
        return self.runner.now(self.id)

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event["data"] for event in self.runner.events(self.id, kind)]

    def until(self, test: Any) -> Any:
        return self.runner.until(test, seconds=LIMIT)

    def checkpoints(self) -> list[int]:
        """The steps of those that the keeper found whole."""
        return [data["step"] for data in self.events("checkpoint") if data["whole"]]

    def left_out(self, why: str | None) -> bool:
        """Whether the last save was left out for this reason; None where it was not even tried."""
        skipped = self.events("save-skipped")
        last = skipped[-1].get("why") if skipped else ""
        return last is None if why is None else why in (last or "")

    def trains_on(self, steps: int = 10) -> None:
        begun = self.state()["step"]
        self.until(lambda: self.state()["step"] >= begun + steps)

    def signal(self, node: str, number: int) -> None:
        found = self.runner.home / "runs" / self.id / "nodes" / node / "supervisor.json"
        os.kill(int(json.loads(found.read_text())["pid"]), number)

    def ended(self) -> dict[str, Any]:
        """Its state once the keeper has also looked at what it left."""
        self.until(lambda: self.events("report") or self.state()["ended_at"])
        return self.until(lambda: self.state()["adapter"] and self.state())


def test_a_run_outlives_a_full_and_a_frozen_disk(runner: Desk, small: Disk, shared: Disk) -> None:
    run = Trained(runner, small.path / "out", "--every", 20, copy_to=str(shared.path))
    run.start()
    run.until(lambda: run.checkpoints() and run.events("copied"))
    shared.freeze()
    run.until(lambda: len(run.checkpoints()) >= 3)
    run.trains_on(30)  # no step waits for the copy that hangs
    copied = len(run.events("copied"))

    for fill, why in ((small.no_bytes, None), (small.no_files, "No space left on device")):
        run.until(lambda fill=fill, why=why: fill() or run.left_out(why))
        run.trains_on()
        small.has_room()
    whole = len(run.checkpoints())
    run.until(lambda: len(run.checkpoints()) > whole)

    assert len(run.events("copied")) == copied
    shared.thaw()
    run.until(lambda: len(run.events("copied")) > copied)
    assert all(one["files"] for one in run.events("copied"))
    found = {(f["id"], f["verdict"]) for f in run.events("finding")}
    assert ("save-paused", "warn") in found and not {one for one in found if one[1] == "block"}
    assert "save-not-whole" not in {id for id, _ in found}

    run.signal("node-1", signal.SIGUSR1)
    state = run.ended()
    assert state["state"] == "stopped" and "SIGUSR1 on node-1" in state["why"]
    assert state["adapter"]["whole"] and state["adapter"]["step"] >= state["step"] - 1

    first = state["adapter"]["step"]
    run.start("--resume", "auto")
    run.until(lambda: (run.state()["step"] or 0) >= first + 3)
    run.runner("stop", run.id, "--save", "-y", code=0)
    state = run.ended()
    assert run.events("resume")[0]["step"] == first
    assert state["state"] == "stopped" and state["adapter"]["whole"]
    assert state["adapter"]["step"] >= max(state["step"] - 1, first + 3)


def test_a_first_save_that_cannot_be_written_ends_the_run_there(runner: Desk, tmp_path: Path) -> None:
    run = Trained(runner, tmp_path / "out", "--in-the-way")
    run.start()
    state = run.until(lambda: run.state()["state"] in ("stopped", "failed", "succeeded") and run.state())

    assert (
        state["state"] == "failed" and state["step"] >= 1
    )  # the ranks go on while the keeper looks at the first save
    (finding,) = [f for f in run.events("finding") if f["id"] == "rehearsal-failed"]
    assert finding["verdict"] == "block" and "checkpoint-1 is not whole" in finding["saw"]
