"""Podman for real, by the same command lines: one node of the rig, no daemon."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rig.desk import Desk
from tests.rig.images import MOUNTS, NAME, import_image
from tests.rig.rig import ROOT, Rig, only_one

pytestmark = [pytest.mark.rig, pytest.mark.training, pytest.mark.seldom]
LOOP = ROOT / "tests" / "runs" / "scripts" / "loop.py"

SETTINGS = """
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
log_driver = "k8s-file"
"""
STORAGE = """
[storage]
driver = "vfs"
graphroot = "/run/podman/graph"
runroot = "/run/podman/run"
"""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with only_one(), Rig(1, shared=[sys.prefix, sys.base_prefix]) as rig:
        if rig.run(1, ["sh", "-c", "command -v podman && command -v runc"], check=False).returncode:
            pytest.skip("podman or runc is not installed: scripts/system.sh podman runc")
        rig.run(
            1,
            ["sh", "-c", "mkdir -p /etc/containers && cat > /etc/containers/containers.conf"],
            input=SETTINGS.encode(),
        )
        rig.run(1, ["sh", "-c", "cat > /etc/containers/storage.conf"], input=STORAGE.encode())
        import_image(rig, 1, tool=("podman",))
        yield rig


def test_training_runs_in_a_podman_container_that_clean_removes(rig: Rig, tmp_path: Path) -> None:
    desk = Desk(rig, tmp_path)
    box = {
        "engine": "podman",
        "image": f"localhost/{NAME}",
        "mounts": [*MOUNTS, f"{ROOT}/tests:{ROOT}/tests:ro"],
        "shm": "128MiB",
    }
    file = desk.file(
        name="podded",
        nodes="node1",
        gpus={"count": 1, "model": "cpu"},
        container=box,
        environment={"python": "/opt/env/bin/python"},
        train={"command": [str(LOOP), "--steps", "3"]},
    )
    answer = desk.json("run", file)
    assert answer["runs"] and answer["runs"][0]["state"] == "succeeded", answer
    asked = ["podman", "ps", "--all", "--quiet", "--filter", "label=org.allranks.home"]
    assert len(rig.run(1, asked).stdout.split()) == 1
    assert desk("clean", "-y", "--files").returncode == 0
    assert rig.run(1, asked).stdout.split() == []
