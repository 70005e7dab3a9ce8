"""A run that brings its own Ray cluster: followed from elsewhere, its actor killed, a stranger's Ray left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness import until
from tests.harness.on_rig import RigDesk, lines_of, machines
from tests.rig.ray_site import have_ray
from tests.rig.rig import Rig

pytestmark = [pytest.mark.rig, pytest.mark.training]
TWO = "node[1-2]"
OWN = {"name": "own", "launch": {"with": "ray"}}
STRANGER = "cp /bin/sleep /tmp/raylet; exec setsid /tmp/raylet 9999 </dev/null >/dev/null 2>&1 &"
"""A process that `ray stop` would end: it goes by the name alone."""


def strangers(rig: Rig) -> None:
    for number in (1, 2, 3):
        rig.run(number, ["sh", "-c", STRANGER])


rig = machines(3, have_ray, strangers)


def begun(desk: RigDesk, nodes: str) -> str:
    """The id of a run that trains."""
    run_id = desk.run(desk.light("--steps", 40000, **OWN, nodes=nodes), "--detach", "--no-probe")["id"]
    desk.trains(run_id)
    return run_id


def of_ray(rig: Rig, number: int) -> list[str]:
    """What Ray or the run has on a node; the stranger is neither."""
    words = ("/ray/", "ray::", "ray start", "hashlib", "_loop.py", "torch.distributed")
    return [line[:160] for line in lines_of(rig, number) if any(word in line for word in words)]


def nothing_of_ray(rig: Rig, *numbers: int) -> None:
    def left() -> list[str]:
        return [line for number in numbers for line in of_ray(rig, number)]

    until(lambda: not left(), left, 300.0, 0.5)


def test_an_actors_death_is_named_from_elsewhere_and_only_what_is_ours_ends(rig: Rig, tmp_path: Path) -> None:
    here, elsewhere = RigDesk(rig, tmp_path / "here"), RigDesk(rig, tmp_path / "elsewhere")
    run_id = begun(here, TWO)
    file = elsewhere.light("--steps", 40000, **OWN, nodes=TWO)

    # Another machine knows the run by its file alone, and sees it train.
    elsewhere("logs", file)
    assert elsewhere.state(run_id)["step"]
    watching = elsewhere.start("watch", file)
    # Ray's dashboard and its token: on 127.0.0.1, in a file that only the run's user reads.
    listening = rig.run(1, ["ss", "-ltnH"]).stdout.decode()
    port = json.loads(rig.run(1, ["cat", f"/root/.allranks/runs/{run_id}/nodes/node1/ray.json"]).stdout)[
        "dashboard"
    ]
    assert f"127.0.0.1:{port}" in listening and f"10.77.0.2:{port}" not in listening
    refused = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"http://127.0.0.1:{port}/api/version"]
    assert rig.run(1, refused).stdout == b"401"
    token = rig.run(1, ["stat", "-c", "%a", f"/root/.allranks/runs/{run_id}/nodes/node1/ray-token"])
    assert token.stdout.strip() == b"600"
    # Training is not niced as Ray's workers are.
    training = next(
        line for line in lines_of(rig, 2) if "_loop.py" in line and "torch.distributed" not in line
    )
    assert rig.run(2, ["ps", "-o", "ni=", "-p", training.rpartition("|")[2]]).stdout.split() == niceness(rig)

    actor = next(line for line in lines_of(rig, 2) if "ray::Supervisor" in line)
    rig.run(2, ["kill", "-KILL", actor.rpartition("|")[2]])
    here.ended(run_id, "stopped", "failed")
    found = [one for one in elsewhere.state(run_id)["findings"] if one["id"] == "ray-actor-died"]
    assert {one["where"]["node"] for one in found} == {"node2"}, elsewhere.state(run_id)
    assert "node2" in watching.communicate(timeout=300)[0]
    # Nothing of the run or of its cluster is left; the stranger is.
    nothing_of_ray(rig, 1, 2)
    for number in (1, 2):
        assert any(line.startswith("/tmp/raylet 9999") for line in lines_of(rig, number))
        assert rig.run(number, ["sh", "-c", "ls -d /tmp/allranks-ray-*"], check=False).stdout == b""


def test_a_node_that_is_cut_off_is_named_and_the_others_are_freed(rig: Rig, tmp_path: Path) -> None:
    """The last test of this rig: node3 does not come back. Who says it first, Ray or our keeper, is open."""
    here = RigDesk(rig, tmp_path / "here")
    run_id = begun(here, "node[1-3]")
    rig.link(3, False)  # first, so that no connection is closed in good order
    rig.power_off(3)
    ended = here.ended(run_id, "stopped", "failed")
    named = {
        one["where"].get("node") for one in ended["findings"] if one["id"] in ("node-lost", "ray-actor-died")
    }
    assert named == {"node3"}, ended["findings"]
    nothing_of_ray(rig, 1, 2)


def niceness(rig: Rig) -> list[bytes]:
    return rig.run(2, ["sh", "-c", "ps -o ni= -p $$"]).stdout.split()
