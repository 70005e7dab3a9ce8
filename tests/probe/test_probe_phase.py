"""The probe as a phase of a run: when it takes place, what the ranks take over, and how it stops a launch."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from allranks.probe import Probed
from allranks.runs.probe_phase import merged, takes_place, with_environment
from tests.harness.on_rig import RigDesk, machines
from tests.probe.case import Simulated
from tests.rig.rig import Rig, address


def test_it_takes_place_between_machines_and_wherever_it_is_asked_for() -> None:
    run = Simulated(3).run
    assert takes_place(run, None) and not takes_place(run, False)
    one_host = replace(run, same_host=True)
    assert not takes_place(one_host, None) and takes_place(one_host, True)
    assert not takes_place(Simulated(1).run, None)


def test_the_ranks_get_what_was_proved_and_keep_what_was_planned() -> None:
    planned = {"all": {"A": "1"}, "nodes": {"n0": {}, "n1": {"GLOO_SOCKET_IFNAME": "mine"}}}
    found = {"all": {"A": "2", "NCCL_IB_DISABLE": "1"}, "nodes": {"n0": {"GLOO_SOCKET_IFNAME": "eth0"}}}
    assert merged(planned, found) == {
        "all": {"A": "1", "NCCL_IB_DISABLE": "1"},
        "nodes": {"n0": {"GLOO_SOCKET_IFNAME": "eth0"}, "n1": {"GLOO_SOCKET_IFNAME": "mine"}},
    }


@pytest.mark.parametrize(("fabric", "expected"), [("auto", {"NCCL_IB_DISABLE": "1"}), ("ib", {})])
def test_a_fabric_that_the_user_chose_is_not_switched_off(fabric: str, expected: dict) -> None:
    from allranks.plan import make_plan

    simulated = Simulated(2)
    run = replace(simulated.run, network=replace(simulated.run.network, fabric=fabric))
    plan = make_plan(run)
    probed = Probed(simulated.results(), (), {"all": {"NCCL_IB_DISABLE": "1"}, "nodes": {}})
    after = with_environment(plan, probed).environment["all"]
    assert {k: v for k, v in after.items() if k == "NCCL_IB_DISABLE"} == expected


# ---- on the rig ----


rig = machines(3)


@pytest.mark.rig
@pytest.mark.training
def test_a_run_stops_before_its_launch_and_goes_on_once_the_network_is_mended(
    rig: Rig, tmp_path: Path
) -> None:
    desk = RigDesk(rig, tmp_path)
    file = desk.file("--steps", 5, nodes={f"node{n}": address(n) for n in (1, 2, 3)})
    closed = ["iptables", "-A", "INPUT", "-p", "tcp", "--syn", "--dport", "32768:60999", "-j", "DROP"]
    rig.run(3, ["iptables", "-A", "INPUT", "-p", "tcp", "--dport", "39500", "-j", "ACCEPT"])
    rig.run(3, closed)
    try:
        answer = desk.json("run", file, code=1)
    finally:
        rig.run(3, ["iptables", "-F"])
    assert answer["stopped_by"] == ["data-ports-closed"] and answer["runs"] == []
    for number in (1, 2, 3):
        left = rig.run(number, ["sh", "-c", "ls /root/.allranks/runs 2>/dev/null"], check=False).stdout
        assert left.decode().strip() == ""
    run = desk.run(file, code=0)
    assert run["state"] == "succeeded"
    phases = [event["data"]["phase"] for event in desk.events(run["id"], "phase")]
    assert phases[:4] == ["check", "prepare", "probe", "launch"]
    job = json.loads(rig.run(2, ["cat", f"/root/.allranks/runs/{run['id']}/nodes/node2/job.json"]).stdout)
    assert job["env"]["GLOO_SOCKET_IFNAME"] == "eth0"
