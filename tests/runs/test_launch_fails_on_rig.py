"""A launch over SSH where one node does not come up: one finding names it, and nothing goes on on the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.desk import LIGHT, SCRIPTS
from tests.harness.on_rig import RigDesk, machines
from tests.rig.refusal import BAD, NODES, refused
from tests.rig.rig import Rig

pytestmark = [pytest.mark.rig, pytest.mark.training]
SCRIPT = SCRIPTS / "light_loop.py"
ENV = {"PYTHONPATH": str(LIGHT)}


rig = machines(3)


def test_a_supervisor_that_does_not_start_is_one_finding_and_the_others_are_stopped(
    rig: Rig, tmp_path: Path
) -> None:
    result = refused(rig, RigDesk(rig, tmp_path), "supervisor", SCRIPT, env=ENV)
    said = json.loads(result.said)
    assert result.all_seconds is not None, "no other supervisor was ever seen: nothing was proved"
    print(f"all others gone after {result.all_seconds:.1f} s")
    assert (result.code, said.get("stopped_by")) == (1, ["supervisor-not-started"]), said
    [found] = [one for one in said["findings"] if one["verdict"] == "block"]
    assert found["where"]["node"] == f"node{BAD}" and "no room for supervisor" in found["saw"]
    for number in NODES:
        runs = rig.run(number, ["sh", "-c", "ls /root/.allranks/runs 2>/dev/null || true"]).stdout
        assert runs == b"", f"node{number} keeps the folder of a run that never was"


@pytest.mark.parametrize("what", ["torchrun", "rank"])
def test_a_training_that_does_not_come_up_on_one_node_is_stopped_on_the_others(
    rig: Rig, tmp_path: Path, what: str
) -> None:
    result = refused(rig, RigDesk(rig, tmp_path), what, SCRIPT, env=ENV)
    [run] = json.loads(result.said)["runs"]
    assert result.ranks_seconds is not None, "no other torchrun was ever seen: nothing was proved"
    print(f"all others' ranks gone after {result.ranks_seconds:.1f} s")
    assert (result.code, run["state"]) == (1, "failed")
    [found] = [one for one in run["findings"] if one["verdict"] == "block"]
    assert found["where"]["node"] == f"node{BAD}", found
    if what == "torchrun":  # what it said is all that is known of why
        assert any("no room for torchrun" in line for line in found["evidence"]), found
