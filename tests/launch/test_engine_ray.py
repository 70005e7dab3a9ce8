"""A run that brings its own Ray cluster: followed from elsewhere, its actor killed, a stranger's Ray left alone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rig.desk import Desk
from tests.rig.ray_site import have_ray
from tests.rig.rig import Rig, only_one
from tests.runs.runner import LIGHT, SCRIPTS

pytestmark = [pytest.mark.rig, pytest.mark.training]
LIMIT_SECONDS = 300.0
STRANGER = "cp /bin/sleep /tmp/raylet; exec setsid /tmp/raylet 9999 </dev/null >/dev/null 2>&1 &"
"""A process that `ray stop` would end: it goes by the name alone."""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with only_one(), Rig(3, shared=[sys.prefix]) as rig:
        have_ray(rig)
        for number in (1, 2, 3):
            rig.run(number, ["sh", "-c", STRANGER])
        yield rig


def run_file(desk: Desk, *arguments: object) -> Path:
    return desk.file(
        name="own",
        nodes="node[1-3]",
        gpus={"count": 1, "model": "cpu"},
        environment={"python": sys.executable},
        launch={"with": "ray"},
        env={"PYTHONPATH": str(LIGHT)},
        train={"command": [str(SCRIPTS / "light_loop.py"), *map(str, arguments)]},
    )


def shown(rig: Rig, number: int) -> list[str]:
    """Every process of a node: pid, niceness, command line."""
    script = (
        "for p in /proc/[0-9]*; do tr '\\0\\n' '  ' < $p/cmdline; echo \"|${p#/proc/}\"; done 2>/dev/null"
    )
    return rig.run(number, ["sh", "-c", script], check=False).stdout.decode(errors="replace").splitlines()


def of_ray(rig: Rig, number: int) -> list[str]:
    """What Ray or the run has on a node; the stranger is neither."""
    words = ("/ray/", "ray::", "ray start", "hashlib", "_loop.py", "torch.distributed")
    return [line[:160] for line in shown(rig, number) if any(word in line for word in words)]


def until(condition: Any, seconds: float = LIMIT_SECONDS) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def test_an_actors_death_is_named_from_elsewhere_and_only_what_is_ours_ends(rig: Rig, tmp_path: Path) -> None:
    here, elsewhere = Desk(rig, tmp_path / "here"), Desk(rig, tmp_path / "elsewhere")
    begun = here.json("run", run_file(here, "--steps", 40000), "--detach", "--no-probe")
    assert begun["runs"], begun
    run_id = begun["runs"][0]["id"]
    file = run_file(elsewhere, "--steps", 40000)

    # Another machine knows the run by its file alone, and sees it train.
    elsewhere("logs", file)
    assert until(lambda: (state_of(elsewhere, run_id)["step"] or 0) > 0), elsewhere("ps").stdout
    watching = subprocess.Popen(elsewhere.command("watch", file), stdout=subprocess.PIPE, text=True)
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
    training = next(line for line in shown(rig, 3) if "_loop.py" in line and "torch.distributed" not in line)
    assert rig.run(3, ["ps", "-o", "ni=", "-p", training.rpartition("|")[2]]).stdout.split() == niceness(rig)

    actor = next(line for line in shown(rig, 3) if "ray::Supervisor" in line)
    rig.run(3, ["kill", "-KILL", actor.rpartition("|")[2]])
    assert until(lambda: state_of(elsewhere, run_id)["state"] in ("stopped", "failed")), state_of(
        elsewhere, run_id
    )
    found = [one for one in state_of(elsewhere, run_id)["findings"] if one["id"] == "ray-actor-died"]
    assert {one["where"]["node"] for one in found} == {"node3"}, state_of(elsewhere, run_id)
    assert "node3" in watching.communicate(timeout=LIMIT_SECONDS)[0]
    # Nothing of the run or of its cluster is left; the stranger is.
    assert until(lambda: not any(of_ray(rig, number) for number in (1, 2, 3))), [
        of_ray(rig, n) for n in (1, 2, 3)
    ]
    for number in (1, 2, 3):
        assert any(line.startswith("/tmp/raylet 9999") for line in shown(rig, number))
        assert rig.run(number, ["sh", "-c", "ls -d /tmp/allranks-ray-*"], check=False).stdout == b""


def test_a_node_that_is_cut_off_is_named_and_the_others_are_freed(rig: Rig, tmp_path: Path) -> None:
    """The last test of this rig: node3 does not come back. Who says it first, Ray or our keeper, is open."""
    here = Desk(rig, tmp_path / "here")
    begun = here.json("run", run_file(here, "--steps", 40000), "--detach", "--no-probe")
    assert begun["runs"], begun
    run_id = begun["runs"][0]["id"]
    assert until(lambda: (state_of(here, run_id)["step"] or 0) > 0), here("ps").stdout
    rig.link(3, False)  # first, so that no connection is closed in good order
    rig.power_off(3)
    ended = until(lambda: (now := state_of(here, run_id))["state"] in ("stopped", "failed") and now)
    assert ended, state_of(here, run_id)
    named = {
        one["where"].get("node") for one in ended["findings"] if one["id"] in ("node-lost", "ray-actor-died")
    }
    assert named == {"node3"}, ended["findings"]
    assert until(lambda: not any(of_ray(rig, number) for number in (1, 2))), [of_ray(rig, n) for n in (1, 2)]


def niceness(rig: Rig) -> list[bytes]:
    return rig.run(3, ["sh", "-c", "ps -o ni= -p $$"]).stdout.split()


def state_of(desk: Desk, run_id: str) -> dict[str, Any]:
    return next(run for run in desk.json("ps")["runs"] if run["id"] == run_id)
