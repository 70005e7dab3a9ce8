"""Images from a registry, and a user who is not root: Docker for real on nodes of the rig."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.on_rig import RigDesk
from tests.rig.images import MOUNTS, NAME, import_image, start_docker, stop_docker
from tests.rig.registry import Registry
from tests.rig.rig import STATE, Rig, only_one

pytestmark = [pytest.mark.rig, pytest.mark.training, pytest.mark.seldom]
NODES = (1, 2)
WHO = """
import getpass, os, pwd
print("who", os.getuid(), getpass.getuser(), pwd.getpwuid(os.getuid()).pw_name, os.path.expanduser("~"), flush=True)
open(os.environ["ALLRANKS_OUTPUT_DIR"] + "/made-inside", "w").close()
"""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with only_one(), Rig(2, shared=[sys.prefix, sys.base_prefix]) as rig:
        try:
            start_docker(rig, NODES, "--insecure-registry=10.77.0.0/16")
            (STATE / "nfs" / "who.py").write_text(WHO)
            yield rig
        finally:
            stop_docker(rig, NODES)


def boxed(desk: RigDesk, image: str, nodes: str = "node[1-2]", **keys: object) -> Path:
    box = {"image": image, "mounts": [*MOUNTS, "/nfs:/nfs:ro"]}
    own = {"name": "boxed", "nodes": nodes, "environment": {"python": "/opt/env/bin/python"}}
    return desk.file(**own, container=box, train={"command": ["/nfs/who.py"]}, **keys)


def references(rig: Rig, run_id: str) -> list[str]:
    read = "cat /root/.allranks/runs/{}/nodes/node{}/container.json"
    return [json.loads(rig.run(n, ["sh", "-c", read.format(run_id, n)]).stdout)["reference"] for n in NODES]


def test_a_tag_is_resolved_once_and_its_digest_is_what_every_node_pulls(rig: Rig, tmp_path: Path) -> None:
    registry = Registry(STATE / "nfs" / "registry")
    first = registry.add(rig.run(1, ["docker", "save", NAME]).stdout)
    import_image(rig, 1, mark="second")
    second = registry.add(rig.run(1, ["docker", "save", NAME]).stdout)
    assert first != second
    registry.tag("v1", first)
    desk = RigDesk(rig, tmp_path)
    with registry.serving(rig) as host:
        file = boxed(desk, f"{host}/box:v1")
        one = desk.json("run", file, "--no-probe")
        assert one["runs"] and one["runs"][0]["state"] == "succeeded", one
        assert references(rig, one["runs"][0]["id"]) == [f"{host}/box@{first}"] * 2
        manifests = [(client, path) for client, path in registry.asked() if "/manifests/" in path]
        head, other = "10.77.0.2", "10.77.0.3"
        assert (head, "/v2/box/manifests/v1") in manifests
        assert {path for client, path in manifests if client == other} == {f"/v2/box/manifests/{first}"}

        # The tag is moved: the nodes keep what it meant.
        registry.tag("v1", second)
        again = desk.json("run", file, "--no-probe")
        assert again["runs"][0]["state"] == "succeeded"
        assert references(rig, again["runs"][0]["id"]) == [f"{host}/box@{first}"] * 2


def test_a_user_who_is_not_root_is_the_same_person_inside(rig: Rig, tmp_path: Path) -> None:
    # sshd without PAM lets nobody in whose password is locked with a `!`.
    rig.run(1, ["useradd", "--create-home", "--uid", "4321", "--groups", "docker", "--password", "*", "mira"])
    rig.run(1, ["cp", "-r", "/root/.ssh", "/home/mira/"])
    rig.run(1, ["chown", "-R", "mira", "/home/mira"])
    rig.run(1, ["chgrp", "docker", "/var/run/docker.sock"])
    desk = RigDesk(rig, tmp_path)
    ran = desk.json("run", boxed(desk, NAME, nodes="node1", user="mira"), "--no-probe")
    assert ran["runs"] and ran["runs"][0]["state"] == "succeeded", ran
    home = "/home/mira/.allranks"
    assert f"who 4321 mira mira {home}/container-home" in desk("logs", ran["runs"][0]["id"]).stdout
    folder = f"{home}/runs/{ran['runs'][0]['id']}"
    found = rig.run(1, ["stat", "-c", "%U", f"{folder}/output/made-inside", f"{folder}/keeper/state.json"])
    assert found.stdout.split() == [b"mira", b"mira"]
    assert desk("clean", ran["runs"][0]["id"], "--files", "-y").returncode == 0
    label = f"label=org.allranks.run={ran['runs'][0]['id']}"
    assert rig.run(1, ["docker", "ps", "--all", "--quiet", "--filter", label]).stdout == b""
