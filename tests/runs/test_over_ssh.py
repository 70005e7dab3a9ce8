"""A run on three machines of the rig over SSH: own networks, own homes, no shared run directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.live_page import LivePage
from tests.harness.on_rig import RigDesk, lines_of, machines
from tests.rig.rig import Rig

pytestmark = [pytest.mark.rig, pytest.mark.training]
rig = machines(3)


def test_a_rank_killed_on_another_machine_is_named(rig: Rig, tmp_path: Path) -> None:
    desk = RigDesk(rig, tmp_path)
    run = desk.run(desk.file("--fault", "kill", "--rank", 2, "--steps", 200), code=1)
    where = run["diagnosis"]["where"]
    assert (where["node"], where["rank"]) == ("node3", 2)
    assert not [line for number in (1, 2, 3) for line in lines_of(rig, number) if "loop.py" in line]


def test_another_machine_with_the_same_run_file_finds_watches_and_stops_the_run(
    rig: Rig, tmp_path: Path
) -> None:
    desk = RigDesk(rig, tmp_path / "one")
    file = desk.light("--steps", 3000)
    run_id = desk.run(file, "--detach", "--no-probe")["id"]
    with RigDesk(rig, tmp_path / "another") as another:
        assert another.runs() == []
        watcher = another.start("watch", file, "--json")
        assert another.json("stop", file)["id"] == run_id
        said, _ = watcher.communicate(timeout=300)
        assert json.loads(said)["runs"][0]["id"] == run_id
        another("logs", file, code=0)


def test_the_live_page_shows_and_stops_a_run_of_other_machines(rig: Rig, tmp_path: Path) -> None:
    desk = RigDesk(rig, tmp_path)
    with desk:
        run_id = desk.run(desk.light("--steps", 3000), "--detach", "--no-probe")["id"]
        desk.trains(run_id, 3)
        with LivePage(desk, run_id) as page:
            assert page.ranks()["nodes"] == ["node1", "node2", "node3"]
            logs = {
                one["rank"]: one for one in json.loads(page.ask("logs"))["logs"] if one["rank"] is not None
            }
            assert [logs[rank]["node"] for rank in range(3)] == ["node1", "node2", "node3"]
            last = json.loads(page.ask(f"log?path={logs[2]['path']}"))
            assert last["path"] == "nodes/node3/logs/rank-2.log"
            assert page.stop() == {"state": "stopped", "left": 0, "unreadable": {}}
        assert desk.ended(run_id)["state"] == "stopped"


def test_a_node_that_fails_its_check_is_left_out_and_the_spare_trains(rig: Rig, tmp_path: Path) -> None:
    desk = RigDesk(rig, tmp_path)
    nodes = {"node1": "node1", "node2": {"address": "node2", "port": 2}, "node3": "node3"}
    file = desk.light("--steps", 20, nodes=nodes, launch={"spares": 1})
    assert desk.json("run", file, "--no-probe", code=3)["stopped_by"] == ["unreadable-node"]
    run = desk.run(file, "--exclude-unready", "--no-probe", code=0)
    assert run["nodes"] == ["node1", "node3"]
    left_out = [event["data"] for event in desk.events(run["id"], "finding")]
    assert [one["where"]["node"] for one in left_out if one["id"] == "node-excluded"] == ["node2"]
