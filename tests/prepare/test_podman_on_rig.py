"""Podman for real, by the same command lines: one node of the rig, no daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.on_rig import RigDesk, machines
from tests.rig.images import MOUNTS, NAME, import_image
from tests.rig.rig import ROOT, Rig

pytestmark = [pytest.mark.rig, pytest.mark.training, pytest.mark.seldom]

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


def have_podman(rig: Rig) -> None:
    if rig.run(1, ["sh", "-c", "command -v podman && command -v runc"], check=False).returncode:
        pytest.skip("podman or runc is not installed: scripts/system.sh podman runc")
    rig.run(1, ["mkdir", "-p", "/etc/containers"])
    for name, text in (("containers", SETTINGS), ("storage", STORAGE)):
        rig.run(1, ["tee", f"/etc/containers/{name}.conf"], input=text.encode())
    import_image(rig, 1, tool=("podman",))


rig = machines(1, have_podman)


def test_training_runs_in_a_podman_container_that_clean_removes(rig: Rig, tmp_path: Path) -> None:
    desk = RigDesk(rig, tmp_path)
    box = {
        "engine": "podman",
        "image": f"localhost/{NAME}",
        "mounts": [*MOUNTS, f"{ROOT}/tests:{ROOT}/tests:ro"],
        "shm": "128MiB",
    }
    python = {"python": "/opt/env/bin/python"}
    file = desk.file("--steps", 3, name="podded", container=box, environment=python)
    assert desk.run(file)["state"] == "succeeded"
    asked = ["podman", "ps", "--all", "--quiet", "--filter", "label=org.allranks.home"]
    assert len(rig.run(1, asked).stdout.split()) == 1
    assert desk("clean", "-y", "--files").returncode == 0
    assert rig.run(1, asked).stdout.split() == []
