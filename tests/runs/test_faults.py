"""Runs of three ranks that go wrong in one way, and what is said, done and left then; the light ones have no torch."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.harness import until
from tests.harness.desk import Desk

pytestmark = pytest.mark.training


def test_a_healthy_run_ends_well_and_leaves_no_process(runner: Desk) -> None:
    run = runner.run(runner.file("--steps", 12), code=0)
    assert run["state"] == "succeeded"
    assert run["step"] == 12
    beats = [e for e in runner.events(run["id"]) if e["kind"] == "beat"]
    assert {e["rank"] for e in beats} == {0, 1, 2}
    assert runner.left() == []
    assert Path(run["directory"], "keeper", "report.html").stat().st_size > 10_000


def test_a_killed_rank_is_named_although_the_others_name_themselves(runner: Desk) -> None:
    run = runner.run(runner.file("--fault", "kill", "--rank", 1, "--steps", 200), code=1)
    assert run["state"] == "failed"
    diagnosis = run["diagnosis"]
    assert (diagnosis["where"]["node"], diagnosis["where"]["rank"]) == ("node-1", 1)
    assert diagnosis["cause"] in ("rank-sigkilled", "cpu-oom-killed")
    assert {place["rank"] for place in diagnosis["collateral"]} == {0, 2}
    verdicts = [e["data"] for e in runner.events(run["id"]) if e["kind"] == "diagnosis"]
    # the first word before the stop
    assert [bool(v.get("provisional")) for v in verdicts] == [True, False], verdicts
    assert {v["where"]["rank"] for v in verdicts} == {1} and "provisional" not in diagnosis
    assert runner.left() == []


def test_a_killed_torchrun_is_named_and_nobody_is_said_to_have_waited(runner: Desk) -> None:
    file = runner.file("--fault", "torchrun", "--rank", 1, "--steps", 200)
    run = runner.run(file, code=1)
    diagnosis = run["diagnosis"]
    assert diagnosis["cause"] in ("torchelastic-signal", "cpu-oom-killed")
    assert (diagnosis["where"]["node"], diagnosis["where"]["rank"]) == ("node-1", None)
    assert diagnosis["evidence"][0] == "torchrun on node-1 was killed by SIGKILL, which allranks did not send"
    assert runner.left() == []


def test_an_exception_is_named_with_its_rank_and_line(runner: Desk) -> None:
    run = runner.run(runner.light("--fault", "raise", "--rank", 2, "--steps", 200), code=1)
    assert run["diagnosis"]["where"]["rank"] == 2
    said = " ".join([*run["diagnosis"]["evidence"], run["diagnosis"]["why"]])
    assert "the label of sample 7 is -1" in said
    (log,) = json.loads((runner.keeper(run["id"]) / "log-ends.json").read_text())["logs"]
    assert log["rank"] == 2 and log["lines"][-1] == "ValueError: the label of sample 7 is -1"
    page = (runner.keeper(run["id"]) / "report.html").read_text()
    assert re.search("<mark> *File &quot;[^<]*light_loop.py&quot;, line [0-9]+", page)
    assert runner.left() == []


def test_a_rank_that_leaves_early_with_0_is_named(runner: Desk) -> None:
    file = runner.file("--fault", "exit", "--rank", 1, "--steps", 200)
    run = runner.run(file, code=1)
    assert run["state"] == "failed"
    assert run["diagnosis"]["where"]["rank"] == 1
    assert runner.left() == []


def test_a_rank_that_is_alone_and_stopped_by_a_signal_is_named(runner: Desk) -> None:
    """In its first steps, when nobody would miss it for a minute."""
    file = runner.light("--fault", "stop", "--rank", 0, "--at", 8, "--seconds", 0.4, nodes="node-0")
    controller = runner.start("run", file)
    try:
        run = runner.at_step(1)

        def named() -> list[dict[str, Any]]:
            found = [e["data"] for e in runner.events(run["id"]) if e["kind"] == "finding"]
            return [finding for finding in found if finding["where"].get("rank") is not None]

        finding = runner.until(named)[0]
    finally:
        runner("stop", runner.runs()[0]["id"], "-y")
        controller.communicate(timeout=120)
    assert (finding["id"], finding["where"]["node"], finding["where"]["rank"]) == ("rank-silent", "node-0", 0)
    assert "stopped by a signal (T)" in finding["saw"]
    assert runner.left() == []


def test_a_full_disk_is_the_cause_and_not_the_lost_peers(runner: Desk, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "small", str(disk)], check=True)
    try:
        file = runner.light("--fault", "disk", "--rank", 0, "--steps", 200, env={"FULL_DISK": str(disk)})
        run = runner.run(file, code=1)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert run["diagnosis"]["cause"] == "disk-full-checkpoint"
    assert run["diagnosis"]["where"]["rank"] == 0


def test_a_script_that_ends_at_once_is_a_finding_with_its_cause_and_not_tried_again(runner: Desk) -> None:
    run = runner.run(runner.light("--no-such-option", launch={"restarts": 3}), code=1)
    assert run["state"] == "failed"
    assert {event["data"]["attempt"] for event in runner.events(run["id"], "torchrun")} == {0}
    assert [event["data"]["again"] for event in runner.events(run["id"], "restart")] == [False]
    said = " ".join([*run["diagnosis"]["evidence"], run["diagnosis"]["why"]])
    assert "--no-such-option" in said
    assert runner.left() == []


PHASES = {"loading": lambda run: run["phase"] == "watch", "training": lambda run: (run["step"] or 0) >= 2}


@pytest.mark.parametrize("phase", PHASES)
def test_the_controller_may_die_and_who_watches_be_suspended(
    runner: Desk, tmp_path: Path, phase: str
) -> None:
    """As a laptop is: neither is a fault."""
    go = tmp_path / "go"
    controller = runner.start("run", runner.light("--steps", 100000, "--until", go))
    (state,) = until(lambda: list(runner.home.glob("runs/*/keeper/state.json")))
    until(lambda: PHASES[phase](json.loads(state.read_text())))
    os.killpg(controller.pid, signal.SIGKILL)
    controller.wait()
    run_id = state.parents[1].name
    watching = runner.start("watch", run_id)
    assert watching.stdout is not None and watching.stdout.readline()  # it looks
    os.killpg(watching.pid, signal.SIGSTOP)
    try:
        go.touch()
        runner.ended(run_id, "succeeded")
    finally:
        os.killpg(watching.pid, signal.SIGCONT)
    out, _ = watching.communicate(timeout=120)
    run = runner.state(run_id)
    assert (watching.returncode, run["state"]) == (0, "succeeded"), out
    assert run["step"] and not [f for f in run["findings"] if f["verdict"] in ("warn", "block")], run
    assert Path(run["directory"], "keeper", "report.html").exists()
    assert runner.left() == []


def test_ctrl_c_after_the_launch_leaves_a_run_that_stop_ends_with_its_orphan_and_no_secret_is_kept(
    runner: Desk,
) -> None:
    canary = runner.environment["CANARY_TOKEN"] = "canary-5f2c9a7e41d8"
    words = ("--fault", "orphan,secret", "--rank", 1, "--steps", 4000, "--workers", 2)
    controller = runner.start("run", runner.light(*words, secrets=["CANARY_TOKEN"]))
    run = runner.at_step(8)
    controller.send_signal(signal.SIGINT)
    out, _ = controller.communicate(timeout=120)
    assert controller.returncode == 0
    assert f"allranks watch {run['id']}" in out and f"allranks stop {run['id']}" in out
    assert runner.at_step(runner.now(run["id"])["step"] + 5)["state"] == "running"

    before = runner.ours()
    assert len(before) >= 3 * (1 + 1 + 1 + 2), before  # supervisor, torchrun, rank, two loader workers
    orphan = ["pgrep", "-f", f"# {run['id']}"]
    assert subprocess.run(orphan, capture_output=True).returncode == 0
    stopped = runner.json("stop", run["id"], "-y", code=0)
    assert (stopped["state"], stopped["left"]) == ("stopped", 0)
    assert runner.left() == []
    assert subprocess.run(orphan, capture_output=True).returncode == 1

    logs = runner("logs", "--rank", 1, code=0)
    assert "the token is" in logs.stdout
    files = [path for path in runner.home.rglob("*") if path.is_file()]
    texts = [out, logs.stdout, *(path.read_bytes().decode("latin-1") for path in files)]
    assert not [text[:200] for text in texts if canary in text]


def test_ctrl_c_before_the_launch_leaves_nothing(runner: Desk) -> None:
    for _ in range(5):
        controller = runner.start("run", runner.light("--steps", 4000))
        assert controller.stdout is not None
        first = controller.stdout.readline()
        assert "checking" in first
        controller.send_signal(signal.SIGINT)
        out, _ = controller.communicate(timeout=120)
        if "allranks watch" not in out:
            break
        # the signal came only after the launch: this test was held up, not the controller
        runner("stop", runner.runs()[0]["id"], "-y", code=0)
        runner("clean", runner.runs()[0]["id"], "-y", "--files", code=0)
    assert controller.returncode == 1, first + out
    assert "aborted" in out
    assert runner.runs() == []
    assert runner.left() == []


def test_a_secret_that_is_not_set_is_bad_input(runner: Desk) -> None:
    done = runner("run", runner.file(secrets=["NOT_SET_ANYWHERE"]), code=2)
    assert "NOT_SET_ANYWHERE" in done.stderr
    assert runner.runs() == []


def test_the_port_of_a_stranger_blocks_the_launch(runner: Desk) -> None:
    file = runner.light("--steps", 5)
    port = json.loads(file.read_text())["network"]["port"]
    with socket.create_server(("127.0.0.1", port)):
        answer = runner.json("run", file, code=1)
    held = [f for f in answer["findings"] if f["verdict"] == "block"]
    assert held and str(port) in held[0]["saw"]
    assert runner.runs() == []
