"""`allranks diagnose --live` beside one plain torchrun job on three nodes: what it says, and that it only looks."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from benchmarks._live_job import LiveJob, cut, diagnose
from tests.harness import on_rig, until
from tests.rig.rig import STATE, Rig

pytestmark = [pytest.mark.rig, pytest.mark.training]
rig = on_rig.machines(3)
NODES = "node[1-3]"


@pytest.fixture(scope="module")
def job(rig: Rig) -> Iterator[LiveJob]:
    with LiveJob(rig, STATE / "nfs" / "job", "--workers", "1") as made:
        made.wait()
        yield made


def lying_about(rig: Rig) -> list[bytes]:
    """What lies in a node's home and in the folders that it shares with no other, without the job's own files. Deeper
    in its home there is this machine's, which others change."""
    find = "ls -A /root; find /tmp /dev/shm -not -path '*/torch*' | sort"
    return [rig.run(number, ["sh", "-c", find]).stdout for number in (1, 2, 3)]


def processes_on(rig: Rig) -> list[set[str]]:
    return [{line for line in on_rig.lines_of(rig, number) if "python" in line} for number in (1, 2, 3)]


def test_a_job_that_is_well_advances_and_a_look_leaves_nothing(rig: Rig, job: LiveJob) -> None:
    files, processes = lying_about(rig), processes_on(rig)
    code, answer, _ = diagnose(rig, NODES)
    assert (code, answer["cause"], answer["confidence"]) == (0, "benign-noise", "certain")
    assert [one["moved"] for one in answer["jobs"][0]["ranks"]] == [True] * 3
    assert lying_about(rig) == files
    until(lambda: processes_on(rig) == processes, lambda: processes_on(rig), 20)


def test_a_stopped_rank_is_named_and_stays_stopped(rig: Rig, job: LiveJob) -> None:
    pid = job.pids()[1]
    os.kill(pid, signal.SIGSTOP)
    job.wait_for_standstill()
    code, answer, _ = diagnose(rig, NODES)
    assert (code, answer["cause"], answer["confidence"]) == (1, "rank-silent", "certain")
    assert (answer["where"]["node"], answer["where"]["rank"]) == ("node2", 1)
    with open(f"/proc/{pid}/stat") as file:
        assert file.read().rpartition(")")[2].split()[0] == "T"
    os.kill(pid, signal.SIGCONT)
    job.wait()


def test_a_rank_in_its_data_loader_is_named_with_its_workers_place(rig: Rig, job: LiveJob) -> None:
    job.file(2, "data")
    job.wait_for_standstill()
    code, answer, _ = diagnose(rig, NODES)
    assert (code, answer["confidence"], answer["where"]["rank"]) == (1, "certain", 2)
    assert any("child" in line and "__getitem__" in line for line in answer["evidence"])
    assert [where["rank"] for where in answer["collateral"]] == [0, 1]
    job.file(2, "")
    job.wait()


def test_the_end_of_a_link_that_is_broken_is_named(rig: Rig, job: LiveJob) -> None:
    cut(rig, 2)
    job.wait_for_standstill(5.0)
    code, answer, _ = diagnose(rig, NODES)
    assert (code, answer["cause"]) == (1, "peer-node-network-broken")
    assert answer["where"]["node"] == "node2"
    cut(rig, 2, whole=False)
    job.wait()
