"""A run on three machines of the rig over SSH: own networks, own homes, no shared run directory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rig.rig import STATE, Rig, only_one
from tests.runs.runner import LIGHT, SCRIPTS

pytestmark = [pytest.mark.rig, pytest.mark.training]


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with only_one(), Rig(3, shared=[sys.prefix]) as rig:
        yield rig


@pytest.fixture
def controller(rig: Rig, tmp_path: Path):
    """Calls allranks where the controller sits, with a home and an SSH configuration of its own."""
    ssh = tmp_path / ".ssh"
    ssh.mkdir(mode=0o700)
    (ssh / "config").write_text((STATE / "ssh_config").read_text())
    (ssh / "known_hosts").write_text((STATE / "known_hosts").read_text())

    def call(*words: object) -> subprocess.CompletedProcess:
        environment = [f"HOME={tmp_path}", f"ALLRANKS_HOME={tmp_path / 'allranks'}"]
        command = ["env", *environment, sys.executable, "-m", "allranks.cli", *map(str, words)]
        return subprocess.run(rig.from_ctl(command), capture_output=True, text=True, timeout=400)

    return call


def write_run_file(folder: Path, *arguments: object, script: str = "loop.py", **env: str) -> Path:
    path = folder / "run.yaml"
    data = {
        "name": "overssh",
        "nodes": "node[1-3]",
        "gpus": {"count": 1, "model": "cpu"},
        "environment": {"python": sys.executable},
        "env": env,
        "train": {"command": [str(SCRIPTS / script), *map(str, arguments)]},
    }
    path.write_text(json.dumps(data))
    return path


def test_a_rank_killed_on_another_machine_is_named(controller, rig: Rig, tmp_path: Path) -> None:
    file = write_run_file(tmp_path, "--fault", "kill", "--rank", 2, "--steps", 200)
    done = controller("run", file, "--json")
    assert done.returncode == 1, (done.stdout[-2000:], done.stderr[-2000:])
    run = json.loads(done.stdout)["runs"][0]
    where = run["diagnosis"]["where"]
    assert (where["node"], where["rank"]) == ("node3", 2)
    for number in (1, 2, 3):
        left = rig.run(number, ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]).stdout.decode()
        assert "loop.py" not in left


def test_another_machine_with_the_same_run_file_finds_watches_and_stops_the_run(
    controller, rig: Rig, tmp_path: Path
) -> None:
    file = write_run_file(tmp_path, "--steps", 3000, script="light_loop.py", PYTHONPATH=str(LIGHT))
    started = controller("run", file, "--detach", "--no-probe", "--json")
    run_id = json.loads(started.stdout)["runs"][0]["id"]
    elsewhere = ["env", f"HOME={tmp_path}", f"ALLRANKS_HOME={tmp_path / 'another'}", sys.executable]

    def call(*words: object) -> subprocess.CompletedProcess:
        command = rig.from_ctl([*elsewhere, "-m", "allranks.cli", *map(str, words)])
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert json.loads(call("ps", "--json").stdout)["runs"] == []
    watcher = subprocess.Popen(
        rig.from_ctl([*elsewhere, "-m", "allranks.cli", "watch", str(file), "--json"]),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        stopped = call("stop", file, "--json")
        assert json.loads(stopped.stdout)["id"] == run_id
        said, _ = watcher.communicate(timeout=300)
        assert json.loads(said)["runs"][0]["id"] == run_id
    finally:
        watcher.kill()
        watcher.wait()
    assert call("logs", file).returncode == 0
