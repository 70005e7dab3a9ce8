"""A node is told to go away: the run saves and ends, and `resume: auto` takes it up where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import free_port
from tests.harness.desk import Desk

pytestmark = [pytest.mark.training, pytest.mark.timeout(400)]
STEPS = 400


def test_sigterm_to_a_supervisor_saves_and_auto_goes_on(root: Path, runner: Desk) -> None:
    tiny = root / ".cache" / "tiny-deepseek-v3"
    subprocess.run([sys.executable, str(root / "examples" / "make_tiny.py"), str(tiny)], check=True)
    file = root / "examples" / "tiny-deepseek-v3.yaml"
    sets = ["--set", f"network.port={free_port()}", "--set", "nodes=node-[0-1]"]
    first = runner.start("run", file, *sets, "--set", f"train.llamafactory.max_steps={STEPS}")
    run = Path(runner.at_step(2)["directory"])
    os.kill(json.loads((run / "nodes" / "node-1" / "supervisor.json").read_text())["pid"], signal.SIGTERM)
    first.communicate(timeout=240)

    state = json.loads((run / "keeper" / "state.json").read_text())
    assert state["state"] == "stopped" and "SIGTERM on node-1" in state["why"]
    assert state["adapter"]["whole"] and 2 <= state["step"] < STEPS
    step = state["adapter"]["step"]
    assert step >= state["step"] - 1  # the keeper may hear of the last step before it hears of the save

    sets += ["--set", "resume=auto", "--set", f"train.llamafactory.max_steps={step + 3}"]
    again = runner.run(file, *sets, code=0)

    assert (again["state"], again["step"]) == ("succeeded", step + 3)
    (resumed,) = [event["data"] for event in runner.events(again["id"], "resume")]
    assert resumed["from"] == str(run / "output" / f"checkpoint-{step}")
    trained = {s[0] for e in runner.events(again["id"], "beat") for s in e["data"]["steps"]}
    assert min(trained) == step + 1
