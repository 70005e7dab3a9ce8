"""What is left to the ranks' control groups, of both versions, and that the kernel has killed there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from allranks.node.memory import NO_LIMIT, Groups, machine
from allranks.node.samples import Sampler
from allranks.node.stall_evidence import DEATH_SECONDS, Evidence


class Tree:
    """A process with a control group of version 1 or 2, as files."""

    def __init__(self, folder: Path, version: int):
        self.folder, self.version = folder, version
        base = folder / "cgroup" / ("memory" if version == 1 else "")
        self.job, self.step = base / "slurm" / "job_7", base / "slurm" / "job_7" / "step_0"
        self.step.mkdir(parents=True)
        proc = folder / "proc" / "9"
        proc.mkdir(parents=True)
        rows = (
            ["5:cpu,cpuacct:/", "4:memory:/slurm/job_7/step_0", "0::/"]
            if version == 1
            else ["0::/slurm/job_7/step_0"]
        )
        (proc / "cgroup").write_text("\n".join(rows) + "\n")
        self.groups = Groups(str(folder / "cgroup"), str(folder / "proc"))

    def set(self, group: Path, limit: int | None, used: int = 0, cache: int = 0, kills: int = 0) -> None:
        one = self.version == 1
        most = str(limit) if limit is not None else str(9223372036854771712) if one else "max"
        (group / ("memory.limit_in_bytes" if one else "memory.max")).write_text(most + "\n")
        (group / ("memory.usage_in_bytes" if one else "memory.current")).write_text(f"{used}\n")
        name, own = "total_" if one else "", f"active_file {1 << 40}\n" if one else ""
        rows = f"{own}{name}inactive_file {cache // 4}\n{name}active_file {cache - cache // 4}\n"
        (group / "memory.stat").write_text(f"anon 5\n{rows}")
        events = "oom_kill_disable 0\nunder_oom 0\n" if one else "low 0\noom 1\n"
        (group / ("memory.oom_control" if one else "memory.events")).write_text(f"{events}oom_kill {kills}\n")


@pytest.fixture(params=[1, 2])
def tree(request, tmp_path: Path) -> Tree:
    return Tree(tmp_path, request.param)


def test_a_groups_limit_counts_what_the_kernel_would_take_back_as_free(tree: Tree) -> None:
    tree.set(tree.job, 16 << 30, used=10 << 30, cache=4 << 30, kills=2)
    tree.set(tree.step, None, used=10 << 30)
    (found,) = tree.groups.sample([9, 12345])
    assert found["path"].endswith("/slurm/job_7")
    assert (found["limit_bytes"], found["used_bytes"], found["oom_kills"]) == (16 << 30, 6 << 30, 2)


def test_the_group_with_the_least_left_comes_first(tree: Tree) -> None:
    tree.set(tree.job, 16 << 30, used=15 << 30)
    tree.set(tree.step, 8 << 30, used=1 << 30)
    assert [found["limit_bytes"] >> 30 for found in tree.groups.sample([9])] == [16, 8]


def test_no_limit_and_no_group_is_nothing(tree: Tree) -> None:
    tree.set(tree.step, None, used=1)
    assert tree.groups.sample([9, 10]) == [] and NO_LIMIT < 9223372036854771712
    (tree.step / "memory.stat").write_text("not\na number x\n")
    assert tree.groups.sample([9]) == []


def test_a_kill_in_the_group_is_told_without_the_kernels_log(tree: Tree, monkeypatch) -> None:
    from allranks.diagnose.symptoms.cpu_oom_killed import CAUSE

    tree.set(tree.job, 16 << 30, kills=3)
    tree.set(tree.step, None, kills=3)
    tree.groups.sample([9])
    assert tree.groups.kills(DEATH_SECONDS) == []
    tree.set(tree.step, None, kills=4)
    seen = Evidence("a", "python3", lambda rank: "", tree.groups)
    monkeypatch.setattr(seen.kernel, "recent", lambda _: ([], "dmesg may not be read"))
    seen._tell_kernel(DEATH_SECONDS)
    (event,) = seen.take()
    (line,) = event.data["lines"]
    assert "/slurm/job_7/step_0" in line and line.endswith("from 3 to 4") and CAUSE.tells(line)
    assert tree.groups.kills(-1.0) == []  # one that was longer ago


def test_a_neighbours_kill_in_a_group_above_is_not_ours(tree: Tree) -> None:
    tree.set(tree.job, 16 << 30, kills=3)
    tree.set(tree.step, 8 << 30, kills=1)
    tree.groups.sample([9])
    tree.set(tree.job, 16 << 30, kills=4)
    tree.groups.sample([9])
    assert tree.groups.kills(DEATH_SECONDS) == []


def test_a_sample_holds_the_groups_of_the_ranks(tree: Tree, tmp_path: Path) -> None:
    tree.set(tree.step, 8 << 30, used=1 << 30)
    sampler = Sampler([str(tmp_path)])
    sampler.groups, sampler.ranks = tree.groups, {0: 9}
    assert sampler.sample().memory_groups[0]["limit_bytes"] == 8 << 30


def test_this_machine_can_be_read() -> None:
    assert machine()["memory_total_bytes"] > 0
    for found in Groups().sample([os.getpid()]):
        assert found["used_bytes"] >= 0 and found["limit_bytes"] < NO_LIMIT
