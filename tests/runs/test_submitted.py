"""Ctrl-C while sbatch submits: the job that SLURM may have by then is given back."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from allranks.cli import main
from allranks.core import BadInput
from allranks.launch.launchers.slurm import jobs as slurm_jobs
from allranks.spec import loads

SBATCH = """#!/bin/sh
touch {folder}/asked
until [ -e {folder}/answer ]; do sleep 0.05; done
echo 77
"""
SQUEUE = """#!/bin/sh
echo "77|77|PENDING|root|(Priority)|Priority||allranks:lora-1"
"""


def test_ctrl_c_while_the_job_is_submitted_gives_it_back(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "sbatch": SBATCH,
        "squeue": SQUEUE,
        "sinfo": "#!/bin/sh\n",
        "scancel": '#!/bin/sh\necho "$@" > {folder}/cancelled\n',
    }.items():
        (tmp_path / name).write_text(text.replace("{folder}", str(tmp_path)))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    run = loads("nodes: 2\nlaunch: {with: slurm}\ntrain: {command: [train.py]}\n")

    async def interrupted() -> None:
        task = asyncio.ensure_future(slurm_jobs.submit(run, "lora-1", [[]]))
        end = time.monotonic() + 60
        while not (tmp_path / "asked").exists() and not task.done() and time.monotonic() < end:
            await asyncio.sleep(0.02)
        assert not task.done(), task.exception()
        task.cancel()
        await asyncio.sleep(0)
        (tmp_path / "answer").touch()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    assert (tmp_path / "cancelled").read_text() == "77\n"


def test_a_dry_run_submits_no_job(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sbatch").write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexit 1\n")
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    (tmp_path / "run.yaml").write_text("nodes: 2\nlaunch: {with: slurm}\ntrain: {command: [train.py]}\n")
    assert main(["run", "-n", str(tmp_path / "run.yaml")]) == 2
    assert "in an allocation" in capsys.readouterr().err
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    ("extra", "variable", "said"),
    [
        ("[--clusters=c2]", "", "launch.extra: --clusters=c2: the job would be on another cluster"),
        ("[-Mc2]", "", "launch.extra: -Mc2"),
        ("[]", "SBATCH_CLUSTERS", "SBATCH_CLUSTERS is set"),
    ],
)
def test_a_job_of_another_cluster_is_refused_before_it_is_submitted(
    extra: str, variable: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable:
        monkeypatch.setenv(variable, "c2")
    run = loads(f"nodes: 2\nlaunch: {{with: slurm, extra: {extra}}}\ntrain: {{command: [train.py]}}\n")
    with pytest.raises(BadInput, match=said):
        asyncio.run(slurm_jobs.submit(run, "lora-1", [[]]))
