"""A node is told to go away: the run saves and ends, and `resume: auto` takes it up where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.runs.runner import ALLRANKS, Runner, free_port

pytestmark = [pytest.mark.training, pytest.mark.timeout(400)]
STEPS = 400


def supervisor(run: Path, node: str) -> int:
    """The pid of a node's supervisor once a step has been trained; raises where that takes too long."""
    deadline = time.monotonic() + 150
    while time.monotonic() < deadline:
        try:
            if (json.loads((run / "keeper" / "state.json").read_text())["step"] or 0) >= 2:
                return int(json.loads((run / "nodes" / node / "supervisor.json").read_text())["pid"])
        except (OSError, ValueError):
            pass
        time.sleep(0.1)
    raise AssertionError(f"{run} trained no step")


def wait_for_run(home: Path) -> Path:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        runs = list((home / "runs").glob("*/keeper/state.json"))
        if runs:
            return runs[0].parents[1]
        time.sleep(0.1)
    raise AssertionError("no run was started")


def test_sigterm_to_a_supervisor_saves_and_auto_goes_on(root: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("ALLRANKS_HOME", str(tmp_path / "home"))
    tiny = root / ".cache" / "tiny-deepseek-v3"
    subprocess.run([sys.executable, str(root / "examples" / "make_tiny.py"), str(tiny)], check=True)
    runner, file = Runner(tmp_path), root / "examples" / "tiny-deepseek-v3.yaml"
    sets = ["--set", f"network.port={free_port()}"]
    argv = [*ALLRANKS, "run", str(file), *sets, "--set", f"train.llamafactory.max_steps={STEPS}"]
    with open(tmp_path / "log", "wb") as log, subprocess.Popen(argv, stdout=log, stderr=log) as first:
        try:
            run = wait_for_run(tmp_path / "home")
            os.kill(supervisor(run, "node-1"), signal.SIGTERM)
            first.wait(240)
        finally:
            if first.poll() is None:
                runner.call("stop", run.name)
                first.kill()

    state = json.loads((run / "keeper" / "state.json").read_text())
    assert state["state"] == "stopped" and "SIGTERM on node-1" in state["why"]
    assert state["adapter"]["whole"] and 2 <= state["step"] < STEPS
    step = state["adapter"]["step"]
    assert step >= state["step"] - 1  # the keeper may hear of the last step before it hears of the save

    sets += ["--set", "resume=auto", "--set", f"train.llamafactory.max_steps={step + 3}"]
    again = runner.json("run", file, *sets, code=0)["runs"][0]

    assert (again["state"], again["step"]) == ("succeeded", step + 3)
    (resumed,) = [event["data"] for event in runner.events(again["id"]) if event["kind"] == "resume"]
    assert resumed["from"] == str(run / "output" / f"checkpoint-{step}")
    trained = {s[0] for e in runner.events(again["id"]) if e["kind"] == "beat" for s in e["data"]["steps"]}
    assert min(trained) == step + 1
