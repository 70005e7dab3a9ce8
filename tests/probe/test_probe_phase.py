"""The probe as a phase of a run: when it takes place, what the ranks take over, and how it stops a launch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from allranks.probe import Probed
from allranks.runs.probe_phase import merged, takes_place, with_environment
from tests.probe.case import Simulated
from tests.rig.rig import STATE, Rig, address, only_one

LOOP = Path(__file__).resolve().parents[1] / "runs" / "scripts" / "loop.py"


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


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with only_one(), Rig(3, shared=[sys.prefix]) as rig:
        yield rig


def call(rig: Rig, folder: Path, *words: object) -> subprocess.CompletedProcess:
    ssh = folder / ".ssh"
    ssh.mkdir(mode=0o700, exist_ok=True)
    (ssh / "config").write_text((STATE / "ssh_config").read_text())
    (ssh / "known_hosts").write_text((STATE / "known_hosts").read_text())
    environment = [f"HOME={folder}", f"ALLRANKS_HOME={folder / 'allranks'}"]
    command = ["env", *environment, sys.executable, "-m", "allranks.cli", *map(str, words)]
    return subprocess.run(rig.from_ctl(command), capture_output=True, text=True, timeout=400)


@pytest.mark.rig
@pytest.mark.training
def test_a_run_stops_before_its_launch_and_goes_on_once_the_network_is_mended(
    rig: Rig, tmp_path: Path
) -> None:
    file = tmp_path / "run.yaml"
    data = {
        "name": "probed",
        "nodes": {f"node{n}": address(n) for n in (1, 2, 3)},
        "gpus": {"count": 1, "model": "cpu"},
        "environment": {"python": sys.executable},
        "train": {"command": [str(LOOP), "--steps", "5"]},
    }
    file.write_text(json.dumps(data))
    closed = ["iptables", "-A", "INPUT", "-p", "tcp", "--syn", "--dport", "32768:60999", "-j", "DROP"]
    rig.run(3, ["iptables", "-A", "INPUT", "-p", "tcp", "--dport", "39500", "-j", "ACCEPT"])
    rig.run(3, closed)
    try:
        done = call(rig, tmp_path, "run", file, "--json")
    finally:
        rig.run(3, ["iptables", "-F"])
    assert done.returncode == 1, (done.stdout[-2000:], done.stderr[-2000:])
    answer = json.loads(done.stdout)
    assert answer["stopped_by"] == ["data-ports-closed"] and answer["runs"] == []
    for number in (1, 2, 3):
        left = rig.run(number, ["sh", "-c", "ls /root/.allranks/runs 2>/dev/null"], check=False).stdout
        assert left.decode().strip() == ""
    done = call(rig, tmp_path, "run", file, "--json")
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    run = json.loads(done.stdout)["runs"][0]
    assert run["state"] == "succeeded"
    journal = rig.run(1, ["cat", f"/root/.allranks/runs/{run['id']}/keeper/journal.jsonl"]).stdout.decode()
    phases = [e["data"]["phase"] for e in map(json.loads, journal.splitlines()) if e["kind"] == "phase"]
    assert phases[:4] == ["check", "prepare", "probe", "launch"]
    job = json.loads(rig.run(2, ["cat", f"/root/.allranks/runs/{run['id']}/nodes/node2/job.json"]).stdout)
    assert job["env"]["GLOO_SOCKET_IFNAME"] == "eth0"
