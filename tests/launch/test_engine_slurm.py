"""Runs on the rig's real SLURM: slurmctld on node1, where the person sits too, and a home that all nodes share."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.harness.live_page import LivePage
from tests.harness.on_rig import SlurmDesk, lines_of, machines
from tests.rig.rig import STATE, Rig
from tests.rig.slurm import said, start_slurm

pytestmark = [pytest.mark.rig, pytest.mark.training]
LOOP = Path(__file__).parent / "scripts" / "tell_and_loop.py"
TRAINER = Path(__file__).parent / "scripts" / "tiny_trainer.py"
CANARY = "canary-" + os.urandom(8).hex()  # not in this file: a checkout may lie where it is looked for
HOSTILE = {"CONTRACT_SHELL": "$(touch /tmp/owned) `id` \"double\" 'single', ; # %n ✓"}


rig = machines(3, start_slurm)


@pytest.fixture(scope="module")
def login(rig: Rig) -> SlurmDesk:
    return SlurmDesk(rig, {"CANARY_TOKEN": CANARY})


def living(rig: Rig) -> list[str]:
    return [line for number in (1, 2, 3) for line in looped(rig, number)]


def looped(rig: Rig, number: int) -> list[str]:
    """The command lines on a node that hold a script of these tests."""
    return [line for line in lines_of(rig, number) if "launch/scripts/" in line or "runs/scripts/" in line]


def test_a_run_ends_well_in_a_job_of_its_own(login: SlurmDesk, rig: Rig) -> None:
    run = login.run(login.file("--steps", 3, script=LOOP, env=HOSTILE, secrets=["CANARY_TOKEN"]))
    assert (run["state"], run["step"]) == ("succeeded", 3), run
    folder = login.keeper(run["id"]).parent
    ranks = json.loads((folder / "plan.json").read_text())["ranks"]
    assert [(one["rank"], one["node"]) for one in ranks] == [(0, "node1"), (1, "node2"), (2, "node3")]
    for rank in range(3):
        log = (folder / f"nodes/node{rank + 1}/logs/rank-{rank}.log").read_text()
        got = next(line for line in log.splitlines() if "GOT " in line)
        assert json.loads(got.partition("GOT ")[2]) == HOSTILE
    assert login.no_jobs() and not living(rig)
    holding = ["grep", "-r", "-l", CANARY, "/nfs/home", "/run/slurmctld", "/tmp"]
    assert rig.run(1, holding, check=False).stdout == b""


def test_the_wait_in_the_queue_is_said_and_stop_ends_our_job_alone(login: SlurmDesk, rig: Rig) -> None:
    other = said(rig, ["sbatch", "--parsable", "--exclusive", "-w", "node3", "--wrap", "sleep 900"]).strip()
    with login.start("run", login.light("--steps", 4000), "--detach", "--no-probe") as running:
        login.until(lambda: any("contract PENDING" in job for job in login.jobs()), login.jobs)
        said(rig, ["scancel", other])
        answer, _ = running.communicate(timeout=300)
    run = json.loads(answer)["runs"][0]
    stranger = said(rig, ["sbatch", "--parsable", "--wrap", "sleep 900"]).strip()
    # The controller has ended; the run goes on until it is stopped.
    assert login.runs()[0]["state"] in ("starting", "running")
    with LivePage(login, run["id"]) as page:
        assert page.ranks()["nodes"] == ["node1", "node2", "node3"]
    stopped = login.json("stop", run["id"])
    assert login.runs()[0]["state"] == "stopped", stopped
    login.until(lambda: len(login.jobs()) == 1, login.jobs)
    assert [job.split()[0] for job in login.jobs()] == [stranger]
    assert not living(rig)
    said(rig, ["scancel", stranger])


def test_a_job_that_slurm_refuses_is_bad_input(login: SlurmDesk) -> None:
    answer = login.json("run", login.light("--steps", 3, launch={"with": "slurm", "partition": "none"}))
    assert "partition" in answer["problems"][0]["saw"]
    assert login.no_jobs()


def test_a_controller_that_dies_in_the_queue_leaves_a_job_that_is_found_and_ended(
    login: SlurmDesk, rig: Rig
) -> None:
    other = said(rig, ["sbatch", "--parsable", "--exclusive", "-N3", "--wrap", "sleep 900"]).strip()
    running = login.start("run", login.light("--steps", 3, name="orphan"))
    with running:
        login.until(lambda: any("orphan PENDING" in job for job in login.jobs()), login.jobs)
        # nsenter's child is the controller itself.
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
    run = login.until(lambda: next((one for one in login.runs() if one["name"] == "orphan"), None))
    assert run["state"] == "checking" and "waits in SLURM's queue" in run["why"], run
    stopped = login.json("stop", run["id"])
    assert stopped["state"] == "stopped" and stopped["cancelled"]
    assert [job.split()[0] for job in login.jobs()] == [other]
    said(rig, ["scancel", other])
    assert login.no_jobs()


def test_an_allocation_that_is_there_is_used_and_never_given_back(login: SlurmDesk, rig: Rig) -> None:
    """The person's own job of two nodes; the run ends in it, and the job goes on."""
    job = said(
        rig, ["sbatch", "--parsable", "-N2", "--exclusive", "-w", "node[2-3]", "--wrap", "sleep 600"]
    ).strip()
    login.until(lambda: any(f"{job} wrap RUNNING" in line for line in login.jobs()), login.jobs)
    there = SlurmDesk(rig, {"SLURM_JOB_ID": job, "SLURM_JOB_NODELIST": "node[2-3]"})
    run = there.run(login.light("--steps", 3, nodes=2), "--no-probe")
    assert (run["state"], run["step"], run["nodes"]) == ("succeeded", 3, ["node2", "node3"]), run
    refused = there.json("run", login.light("--steps", 3, nodes=3))
    assert "has 2 nodes and the run wants 3" in refused["problems"][0]["saw"]
    # What is not ours by its comment is not ended, whatever the index says.
    assert login.json("stop", run["id"])["left"] == 0
    assert [line.split()[0] for line in login.jobs()] == [job]
    said(rig, ["scancel", job])
    assert login.no_jobs()


def test_check_and_probe_look_at_the_allocations_nodes_and_submit_nothing(login: SlurmDesk, rig: Rig) -> None:
    """Both from within the person's own job; the nodes are reached by srun alone: SSH between them is closed."""
    file = login.file("--steps", 3, script=LOOP, nodes=2)
    job = said(
        rig, ["sbatch", "--parsable", "-N2", "--exclusive", "-w", "node[2-3]", "--wrap", "sleep 600"]
    ).strip()
    login.until(lambda: any(f"{job} wrap RUNNING" in line for line in login.jobs()), login.jobs)
    there = SlurmDesk(rig, {"SLURM_JOB_ID": job, "SLURM_JOB_NODELIST": "node[2-3]"})
    closed = ["-p", "tcp", "--dport", "22", "-j", "REJECT", "--reject-with", "tcp-reset"]
    for number in (1, 2, 3):
        rig.run(number, ["iptables", "-A", "INPUT", *closed])
    try:
        checked = there.json("check", file)
        probed = there.json("probe", file, "--seconds", 0.3)
    finally:
        for number in (1, 2, 3):
            rig.run(number, ["iptables", "-D", "INPUT", *closed])
    assert [(node["name"], node["passes"]) for node in checked["nodes"]] == [("node2", True), ("node3", True)]
    assert probed["nodes"] == ["node2", "node3"] and not probed["unreached"]
    assert [step["passed"] for step in probed["collectives"]] == [True], probed
    assert [line.split()[0] for line in login.jobs()] == [job]
    said(rig, ["scancel", job])
    assert login.no_jobs() and not living(rig)


def test_a_sweep_is_an_array_whose_tasks_are_runs(login: SlurmDesk, rig: Rig) -> None:
    """The last task has the array's own number, and ends while the first still runs."""
    after = "/nfs/home/runs/many-*-1/keeper/state.json"  # the first waits for the second's end
    file = login.light("--steps", 4, script=LOOP, nodes=1, name="many", sweep={"after": [after, ""]})
    runs = login.json("run", file, "--no-probe")["runs"]
    assert [(run["name"], run["state"], run["step"]) for run in runs] == [
        ("many-0", "succeeded", 4),
        ("many-1", "succeeded", 4),
    ], runs
    assert runs[1]["ended_at"] < runs[0]["ended_at"], runs
    known = said(rig, ["scontrol", "-o", "show", "job"])
    assert all(f"Comment=allranks:{run['id']} " in known for run in runs), known
    listed = {run["id"]: run["state"] for run in login.runs()}
    assert {run["id"]: "succeeded" for run in runs}.items() <= listed.items()
    assert login.no_jobs() and not living(rig)


@pytest.mark.seldom
def test_a_save_before_the_time_limit_and_what_it_and_a_requeue_go_on_from(
    login: SlurmDesk, rig: Rig
) -> None:
    """Three lives of a Trainer's run without DeepSpeed: it is told to go, taken up again, and requeued.

    SLURM sends its signal to the job's script alone; `scancel --batch` does the same without the wait.
    """
    keys = {"name": "lives", "nodes": 2, "resume": "auto", "save": {"to": "/nfs/lives"}}
    keys["env"] = {"OMP_NUM_THREADS": "1"}
    # GPUs that SLURM counts and that are none: the job asks for them.
    keys |= {"gpus": 1, "accept": ["gpus-missing"]}
    file = login.file("--steps", 4000, "--seconds", 0.1, script=TRAINER, **keys)
    first = login.run(file, "--no-probe", "--detach")
    job = login.jobs()[0].split()[0]
    shown = said(rig, ["scontrol", "show", "job", job])
    assert f"Comment=allranks:{first['id']}" in shown and "gres:gpu:1" in shown, shown
    login.trains(first["id"])
    said(rig, ["scancel", "--batch", "--signal=USR1", job])
    login.ended(first["id"], "stopped")
    step = login.state(first["id"])["adapter"]["step"]
    assert step >= 2 and "notice command" in login.state(first["id"])["why"]
    assert login.no_jobs() and not living(rig)

    requeued = STATE / "nfs" / "requeued"  # until then it is slow: it must not end before it is requeued
    words = ("--steps", step + 25, "--seconds", 0.1, "--slow-until", "/nfs/requeued")
    file = login.file(*words, script=TRAINER, **keys)
    second = login.run(file, "--no-probe", "--detach")["id"]
    job = login.jobs()[0].split()[0]
    saves = STATE / "nfs" / "lives" / second
    login.until(lambda: list(saves.glob("checkpoint-*/allranks.json")))
    login.trains(second, step + 1)  # its first step is in the journal
    said(rig, ["scontrol", "requeue", job])
    # SLURM lets a requeued job wait for as long as its credentials live (AuthInfo cred_expire, 120 s).
    login.until(lambda: any(f"{job} lives PENDING" in line for line in login.jobs()), login.jobs)
    requeued.touch()
    said(rig, ["scontrol", "update", f"JobId={job}", "StartTime=now"])
    known = {first["id"], second}
    third = login.until(lambda: [run["id"] for run in login.runs() if run["id"] not in known and
                           run["name"] == "lives"])[0]  # fmt: skip
    login.ended(third, "succeeded")

    assert went_on_from(login, second) == (f"/nfs/lives/{first['id']}/checkpoint-{step}", step)
    path, later = went_on_from(login, third)
    assert path == f"/nfs/lives/{second}/checkpoint-{later}" and later > step
    assert login.state(third)["step"] == step + 25 and login.state(third)["adapter"]["whole"]
    assert login.no_jobs() and not living(rig)


def went_on_from(login: SlurmDesk, run_id: str) -> tuple[str, int]:
    """The checkpoint that the keeper chose; the first step trained was the one after it."""
    events = login.events(run_id)
    (chosen,) = [event["data"] for event in events if event["kind"] == "resume"]
    trained = [step[0] for event in events if event["kind"] == "beat" for step in event["data"]["steps"]]
    assert min(trained) == chosen["step"] + 1
    return chosen["from"], chosen["step"]


def test_a_node_that_is_cut_off_is_named_and_its_job_ended(login: SlurmDesk, rig: Rig) -> None:
    """The last test of this rig: node3 does not come back. SLURM itself would notice after its SlurmdTimeout."""
    run = login.run(login.light("--steps", 40000, name="cut"), "--no-probe", "--detach")
    login.trains(run["id"])
    rig.link(3, False)  # first, so that no connection is closed in good order
    rig.power_off(3)
    login.ended(run["id"], "failed")
    ended = login.state(run["id"])
    assert ended["diagnosis"]["where"]["node"] == "node3", ended
    assert {one["where"]["node"] for one in ended["findings"] if one["id"] == "node-lost"} == {"node3"}, ended
    # Without this the job is COMPLETING until SLURM gives the node up.
    said(rig, ["scontrol", "update", "NodeName=node3", "State=DOWN", "Reason=gone"])
    login.json("stop", run["id"])
    assert login.no_jobs()
    assert not [line for number in (1, 2) for line in looped(rig, number)]
