"""The rig of a test run that was killed: the next one finds it and removes it, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import until
from tests.rig.rig import ROOT, Started, sharing_network, start_time

pytestmark = pytest.mark.rig

STANDS = """
import subprocess, sys, time
from tests.rig.rig import Rig, only_one
from tests.harness import until
with only_one(), Rig(int(sys.argv[1])) as rig:
    left = [rig.inside(1, ["sleep", "600"]), rig.from_ctl(["sleep", "600"])]
    started = [subprocess.Popen(words).pid for words in left] if sys.argv[2] == "and-works" else []
    print("stands", *started, flush=True)
    if started:
        time.sleep(600)
    print(rig.run(1, ["hostname"]).stdout.decode().strip(), flush=True)
"""


@pytest.fixture
def state() -> Iterator[Path]:
    """A rig's folder of this test's own; whatever a failure leaves there is removed by the rig's own word."""
    path = Path(f"/run/allranks-rig-stale-{os.getpid()}")
    yield path
    subprocess.run([sys.executable, "-m", "tests.rig.rig", "down"], env=environment(path), check=True)
    path.with_name(f"{path.name}.lock").unlink(missing_ok=True)


def environment(state: Path) -> dict[str, str]:
    return {**os.environ, "ALLRANKS_RIG": str(state), "PYTHONPATH": str(ROOT)}


def stands(state: Path, count: int, how: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", STANDS, str(count), how]
    return subprocess.Popen(words, env=environment(state), stdout=subprocess.PIPE, text=True)


def parts(state: Path) -> list[Started]:
    """What the rig wrote down, and the first process of each node."""
    written = json.loads((state / "processes.json").read_text())
    found = [Started(*values) for values in written.values()]
    for one in list(found):
        children = Path(f"/proc/{one.pid}/task/{one.pid}/children").read_text().split()
        found += [Started.of(int(pid)) for pid in children]
    return found


def test_the_rig_of_a_killed_test_run_is_removed_by_the_next(state: Path) -> None:
    stranger = subprocess.Popen(["sleep", "600"])
    first = stands(state, 2, "and-works")
    try:
        assert first.stdout is not None
        pids = [int(word) for word in first.stdout.readline().split()[1:]]
        works = [Started.of(pid) for pid in pids]
        first.send_signal(signal.SIGKILL)
        first.wait()
        old = [*parts(state), *works]
        assert len(old) == 7 and all(one.alive() for one in old), "the killed run's rig still stands"
        recycle(state, stranger.pid)

        second = stands(state, 1, "and-ends")
        said, _ = second.communicate(timeout=300)
        assert (second.returncode, said.split()) == (0, ["stands", "node1"])
        until_gone(old)
        assert stranger.poll() is None, "its pid stood in the rig's list, with another start"
        assert not state.exists()
        assert str(state) not in Path("/proc/self/mounts").read_text()
    finally:
        for process in (first, stranger):
            process.kill()
            process.wait()


def test_a_controller_that_has_not_left_its_starters_network_has_nothing_in_it() -> None:
    """Killed in that moment, the rig's list names a process among all of this machine's."""
    assert sharing_network(Started.of(os.getpid())) == []


def recycle(state: Path, pid: int) -> None:
    """The kernel has given a number of the rig's to somebody else."""
    path = state / "processes.json"
    assert start_time(pid)
    path.write_text(json.dumps({**json.loads(path.read_text()), "node9": [pid, 1]}))


def until_gone(processes: list[Started]) -> None:
    until(lambda: not any(one.alive() for one in processes), "they are still there", 60)
