"""What SLURM tells of an array: the number of its last task is that of the whole array."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from allranks.core import CouldNotTell
from allranks.launch.launchers.slurm import jobs as slurm_jobs

FIRST = "8|7_0|RUNNING|ann|node1|None|node1|allranks:lora-1"
LAST = "7|7_1|RUNNING|ann|node2|None|node2|allranks:lora-1"


def program(folder: Path, name: str, *lines: str) -> None:
    (folder / f"{name}.out").write_text("".join(line + "\n" for line in lines))
    (folder / name).write_text(f'#!/bin/sh\necho "$@" >>{folder}/{name}.asked\ncat {folder}/{name}.out\n')
    (folder / name).chmod(0o755)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def test_a_task_is_known_by_both_of_its_numbers_and_no_other_stands_for_it(slurm: Path) -> None:
    program(slurm, "squeue", FIRST, LAST)
    assert asyncio.run(slurm_jobs.job("7")).nodes == "node2"
    assert asyncio.run(slurm_jobs.job("7_0")).nodes == "node1"
    program(slurm, "squeue", FIRST)
    ended = asyncio.run(slurm_jobs.job("7"))
    assert not ended.runs and not ended.waits, ended


def test_the_end_of_a_task_is_not_the_end_of_another(slurm: Path) -> None:
    first = "JobId=8 ArrayJobId=7 ArrayTaskId=0 JobState=RUNNING Reason=None NodeList=node1"
    last = "JobId=7 ArrayJobId=7 ArrayTaskId=1 JobState=TIMEOUT Reason=TimeLimit NodeList=node2"
    program(slurm, "scontrol", last, first)
    assert asyncio.run(slurm_jobs.ending("7")) == "TIMEOUT (TimeLimit)"
    assert asyncio.run(slurm_jobs.ending("7_1")) == "TIMEOUT (TimeLimit)"
    assert asyncio.run(slurm_jobs.ending("8")) == "RUNNING"
    program(slurm, "scontrol", first)
    assert asyncio.run(slurm_jobs.ending("7")) == "", "SLURM no longer knows it, and tells of another"
    program(slurm, "scontrol", "JobId=7 ArrayJobId=7 ArrayTaskId=1-5 JobState=CANCELLED Reason=None")
    assert asyncio.run(slurm_jobs.ending("7_2")) == "CANCELLED", "those that wait are one record"
    program(slurm, "scontrol")
    program(slurm, "sacct", "7_0|8|COMPLETED", "7_1|7|CANCELLED by 0")
    assert asyncio.run(slurm_jobs.ending("7")) == "CANCELLED by 0"
    assert asyncio.run(slurm_jobs.ending("7_0")) == "COMPLETED"


def test_a_comment_is_given_to_one_task_alone(slurm: Path) -> None:
    program(slurm, "squeue", FIRST, LAST)
    program(slurm, "scontrol")
    asyncio.run(slurm_jobs.claim(asyncio.run(slurm_jobs.job("7")), "lora-1-1"))
    assert (slurm / "scontrol.asked").read_text() == "update JobId=7_1 Comment=allranks:lora-1-1\n"


def test_a_job_that_slurm_did_not_cancel_is_not_forgotten(slurm: Path) -> None:
    program(slurm, "squeue", FIRST)
    program(slurm, "scancel")
    assert asyncio.run(slurm_jobs.cancel("8", "lora-1"))
    (slurm / "scancel").write_text("#!/bin/sh\necho 'scancel: error: Socket timed out' >&2\nexit 1\n")
    with pytest.raises(CouldNotTell, match="Socket timed out"):
        asyncio.run(slurm_jobs.cancel("8", "lora-1"))
