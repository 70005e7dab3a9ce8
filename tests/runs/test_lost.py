"""Supervisors that are killed: what is said of the run, of the right node, and what is left."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.harness.desk import Desk

pytestmark = pytest.mark.training


def kill_supervisor(run: dict[str, Any], node: str) -> None:
    path = Path(run["directory"], "nodes", node, "supervisor.json")
    os.kill(json.loads(path.read_text())["pid"], signal.SIGKILL)


def test_a_dead_keeper_is_named_and_neither_the_nodes_nor_a_scheduler(runner: Desk) -> None:
    controller = runner.start("run", runner.light("--steps", 4000))
    run = runner.at_step(3)
    kill_supervisor(run, "node-0")
    out, _ = controller.communicate(timeout=300)
    assert controller.returncode == 3
    assert "supervisor-lost" in out or "the keeper, pid" in out, out
    assert "no longer answer" not in out
    done = runner("diagnose", run["id"], "--json", code=1)
    found = json.loads(done.stdout)
    assert (found["cause"], found["where"]["node"]) == ("supervisor-lost", "node-0")
    assert not runner.left(180)  # the others' leases end after 30 s


def test_a_supervisor_killed_on_the_heads_own_host_is_no_lost_node(runner: Desk) -> None:
    controller = runner.start("run", runner.light("--steps", 4000))
    run = runner.at_step(3)
    kill_supervisor(run, "node-1")
    controller.communicate(timeout=300)
    state = runner.runs()[0]
    assert state["state"] == "failed"
    assert (state["diagnosis"]["cause"], state["diagnosis"]["where"]["node"]) == ("supervisor-lost", "node-1")
    assert "node-lost" not in {f["id"] for f in state["findings"]}
    assert runner.left() == []
