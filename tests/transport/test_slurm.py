"""A node of a SLURM job, with programs in the place of srun and squeue: when the job counts as ended."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from allranks.launch.launchers.slurm.transport import SlurmTransport
from allranks.transport.base import Completed

STEP = "srun: error: Unable to create step for job 7: Job/step already completing or completed"
PROGRAM = ["echo", "ran here"]


class Slurm:
    def __init__(self, folder: Path):
        self.folder = folder

    def program(self, name: str, err: str, code: int, out: str = "") -> None:
        path = self.folder / name
        (self.folder / f"{name}.err").write_text(err + "\n" if err else "")
        path.write_text(f"#!/bin/sh\ncat {path}.err >&2\n[ -n '{out}' ] && echo '{out}'\nexit {code}\n")
        path.chmod(0o755)

    def ask(self) -> tuple[SlurmTransport, Completed]:
        transport = SlurmTransport("node-1", "7")
        # `read` is one of the verbs that are done here when the job has ended.
        return transport, asyncio.run(transport.run([*PROGRAM, "read"]))


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return Slurm(tmp_path)


@pytest.mark.parametrize(
    ("said", "code", "out"),
    [
        ("slurm_load_jobs error: Invalid job id specified", 1, ""),
        ("", 0, ""),
        ("", 0, "7 COMPLETING"),
        ("", 0, "9 RUNNING"),
    ],
    ids=["unknown", "not listed", "completing", "another task of its array runs"],
)
def test_a_job_that_squeue_knows_no_more_has_ended(slurm: Slurm, said: str, code: int, out: str) -> None:
    slurm.program("srun", STEP, 1)
    slurm.program("squeue", said, code, out)
    transport, done = slurm.ask()
    assert transport.gone and done.out == b"ran here read\n"


@pytest.mark.parametrize(
    ("err", "said", "code", "out"),
    [
        ("ValueError: this certificate was revoked", "", 0, ""),
        ("Job 3 of the queue expired", "", 0, ""),
        (STEP, "", 0, "7 RUNNING"),
        (STEP, "slurm_load_jobs error: Unable to contact slurm controller", 1, ""),
    ],
    ids=["the program's word", "the program's line", "it runs", "squeue cannot tell"],
)
def test_any_other_failure_is_no_end_of_the_job(
    slurm: Slurm, err: str, said: str, code: int, out: str
) -> None:
    slurm.program("srun", err, 1)
    slurm.program("squeue", said, code, out)
    transport, done = slurm.ask()
    assert not transport.gone and done.code == 1
