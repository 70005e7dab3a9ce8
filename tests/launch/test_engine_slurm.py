"""Runs on the rig's real SLURM: slurmctld on node1, where the person sits too, and a home that all nodes share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rig"))
from slurm import said, start_slurm

from rig import ROOT, STATE, Rig, only_one

pytestmark = [pytest.mark.rig, pytest.mark.training]
LOOP = Path(__file__).parent / "scripts" / "tell_and_loop.py"
CANARY = "canary-" + os.urandom(8).hex()  # not in this file: a checkout may lie where it is looked for
HOSTILE = {"CONTRACT_SHELL": "$(touch /tmp/owned) `id` \"double\" 'single', ; # %n ✓"}


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with only_one(), Rig(3, shared=[sys.prefix]) as rig:
        start_slurm(rig)
        yield rig


class Login:
    """allranks on SLURM's login node."""

    def __init__(self, rig: Rig):
        self.rig = rig

    def command(self, *words: object) -> list[str]:
        own = ["ALLRANKS_HOME=/nfs/home", f"PYTHONPATH={ROOT / 'src'}", f"CANARY_TOKEN={CANARY}"]
        return self.rig.inside(1, ["env", *own, sys.executable, "-m", "allranks.cli", *map(str, words)])

    def json(self, *words: object) -> Any:
        done = subprocess.run(self.command(*words, "--json"), capture_output=True, text=True, timeout=200)
        assert done.stdout.startswith(("{", "[")), (done.stdout[-2000:], done.stderr[-3000:])
        return json.loads(done.stdout)

    def file(self, *arguments: object, **keys: Any) -> str:
        run = {
            "name": "contract",
            "nodes": 3,
            "gpus": 1,
            "environment": {"python": sys.executable},
            "launch": {"with": "slurm", "partition": "train", "time": "10"},
            "train": {"command": [str(LOOP), *map(str, arguments)]},
        }
        (STATE / "nfs" / "run.yaml").write_text(json.dumps({**run, **keys}))
        return "/nfs/run.yaml"

    def jobs(self) -> list[str]:
        return said(self.rig, ["squeue", "-h", "-o", "%i %j %T"]).splitlines()

    def no_jobs(self, seconds: float = 60.0) -> bool:
        deadline = time.monotonic() + seconds
        while self.jobs() and time.monotonic() < deadline:
            time.sleep(0.3)
        return not self.jobs()


@pytest.fixture(scope="module")
def login(rig: Rig) -> Login:
    return Login(rig)


def living(rig: Rig) -> list[str]:
    lines = []
    for number in (1, 2, 3):
        shown = rig.run(
            number, ["sh", "-c", "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done"]
        )
        lines += [line for line in shown.stdout.decode(errors="replace").splitlines() if "_loop.py" in line]
    return lines


def test_a_run_ends_well_in_a_job_of_its_own(login: Login, rig: Rig) -> None:
    run = login.json("run", login.file("--steps", 3, env=HOSTILE, secrets=["CANARY_TOKEN"]))["runs"][0]
    assert (run["state"], run["step"]) == ("succeeded", 3), run
    folder = STATE / "nfs" / "home" / "runs" / run["id"]
    ranks = json.loads((folder / "plan.json").read_text())["ranks"]
    assert [(one["rank"], one["node"]) for one in ranks] == [(0, "node1"), (1, "node2"), (2, "node3")]
    for rank in range(3):
        log = (folder / f"nodes/node{rank + 1}/logs/rank-{rank}.log").read_text()
        got = next(line for line in log.splitlines() if "GOT " in line)
        assert json.loads(got.partition("GOT ")[2]) == HOSTILE
    assert login.no_jobs() and not living(rig)
    holding = ["grep", "-r", "-l", CANARY, "/nfs/home", "/run/slurmctld", "/tmp"]
    assert rig.run(1, holding, check=False).stdout == b""


def test_the_wait_in_the_queue_is_said_and_stop_ends_our_job_alone(login: Login, rig: Rig) -> None:
    other = said(rig, ["sbatch", "--parsable", "--exclusive", "-w", "node3", "--wrap", "sleep 300"]).strip()
    with subprocess.Popen(
        login.command("run", login.file("--steps", 4000), "--detach", "--json"),
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        deadline = time.monotonic() + 60
        while not any("contract PENDING" in job for job in login.jobs()) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert any("contract PENDING" in job for job in login.jobs()), login.jobs()
        said(rig, ["scancel", other])
        answer, _ = running.communicate(timeout=150)
    run = json.loads(answer)["runs"][0]
    stranger = said(rig, ["sbatch", "--parsable", "--wrap", "sleep 100"]).strip()
    # The controller has ended; the run goes on until it is stopped.
    assert login.json("ps")["runs"][0]["state"] in ("starting", "running")
    stopped = login.json("stop", run["id"])
    assert login.json("ps")["runs"][0]["state"] == "stopped", stopped
    deadline = time.monotonic() + 60
    while len(login.jobs()) > 1 and time.monotonic() < deadline:
        time.sleep(0.3)
    assert [job.split()[0] for job in login.jobs()] == [stranger]
    assert not living(rig)
    said(rig, ["scancel", stranger])


def test_a_job_that_slurm_refuses_is_bad_input(login: Login) -> None:
    answer = login.json("run", login.file("--steps", 3, launch={"with": "slurm", "partition": "none"}))
    assert "partition" in answer["problems"][0]["saw"]
    assert login.no_jobs()
