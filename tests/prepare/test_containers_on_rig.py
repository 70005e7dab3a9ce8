"""Docker for real: an engine on each of two nodes of the rig, reached over SSH, training in its containers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.on_rig import RigDesk
from tests.prepare.wheels import write_wheel
from tests.rig.images import MOUNTS, NAME, import_image, start_docker, stop_docker
from tests.rig.rig import ROOT, STATE, Rig, only_one

pytestmark = [pytest.mark.rig, pytest.mark.training]
NODES = (1, 2)
WRITES = """
import os
for name in ("", "runs", "bundles", "cache", "code"):
    try:
        open(f"/root/.allranks/{name}/probe", "w").close()
        os.unlink(f"/root/.allranks/{name}/probe")
        print(name or "home")
    except OSError:
        pass
print(*[line for line in open("/proc/self/status") if line.startswith("NoNewPrivs")])
"""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with only_one(), Rig(2, shared=[sys.prefix, sys.base_prefix]) as rig:
        try:
            start_docker(rig, NODES)
            write_wheel(
                STATE / "nfs" / "wheels", "boxed_marker", "1.2", {"boxed_marker.py": "version = '1.2'\n"}
            )
            yield rig
        finally:
            stop_docker(rig, NODES)


@pytest.fixture
def desk(rig: Rig, tmp_path: Path) -> RigDesk:
    return RigDesk(rig, tmp_path)


def boxed(
    desk: RigDesk,
    *words: object,
    script: str = "light_loop.py",
    container: dict[str, Any] | None = None,
    **keys: Any,
) -> Path:
    """A run in containers; its ranks need no torch if the script does not."""
    box = {"image": NAME, "mounts": [*MOUNTS, f"{ROOT}/tests:{ROOT}/tests:ro"], **(container or {})}
    begin = desk.light if script == "light_loop.py" else desk.file
    python = {"python": "/opt/env/bin/python"}
    return begin(*(words or ("--steps", 4)), name="boxed", container=box, environment=python, **keys)


def docker(rig: Rig, number: int, *words: str) -> str:
    return rig.run(number, ["docker", *words]).stdout.decode().strip()


def ids(rig: Rig) -> list[str]:
    """The containers of ours on both nodes, by label."""
    asked = ("ps", "--all", "--no-trunc", "--filter", "label=org.allranks.home", "--format", "{{.ID}}")
    return [docker(rig, number, *asked) for number in NODES]


def findings(answer: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for finding in answer["findings"]:
        if finding["verdict"] in ("block", "unknown"):
            found.setdefault(finding["id"], []).append(finding["saw"])
    return found


def test_training_runs_in_containers_that_are_used_again_until_their_description_changes(
    desk: RigDesk, rig: Rig
) -> None:
    file = boxed(
        desk,
        container={
            "shm": "200MiB",
            "pip": ["boxed_marker==1.2"],
            "wheels": "/nfs/wheels",
            "mounts": [*MOUNTS, f"{ROOT}/tests:{ROOT}/tests:ro", "/nfs:/nfs:ro"],
        },
    )
    run = desk.run(file, "--no-probe")
    assert (run["state"], run["step"]) == ("succeeded", 4)
    first = ids(rig)
    assert all(first)
    for number, container in zip(NODES, first, strict=True):
        inside = ("exec", container, "/opt/env/bin/python", "-c")
        assert docker(rig, number, *inside, "import boxed_marker; print(boxed_marker.version)") == "1.2"
        size = "import os; s = os.statvfs('/dev/shm'); print(s.f_blocks * s.f_frsize)"
        assert int(docker(rig, number, *inside, size)) == 200 << 20
        assert docker(rig, number, *inside, "import socket; print(socket.gethostname())") == f"node{number}"
        assert docker(rig, number, *inside, WRITES).split() == ["runs", "cache", "code", "NoNewPrivs:", "1"]
    record = rig.run(1, ["cat", f"/root/.allranks/runs/{run['id']}/nodes/node1/container.json"])
    assert json.loads(record.stdout)["container"] == first[0]

    assert desk.run(file, "--no-probe")["state"] == "succeeded"
    assert ids(rig) == first

    file = boxed(desk, script="loop.py", container={"shm": "300MiB"})
    assert desk.run(file)["state"] == "succeeded"
    assert not set(ids(rig)) & set(first)

    cleaned = desk.json("clean", "--files", "--models", "-y")["cleaned"]
    assert len(cleaned) == 3, cleaned
    assert ids(rig) == ["", ""]
    for number in NODES:
        assert rig.run(number, ["ls", "/root/.allranks/runs"]).stdout == b"", cleaned


def test_stop_and_clean_end_our_containers_and_no_others(desk: RigDesk, rig: Rig) -> None:
    foreign = docker(
        rig,
        1,
        "run",
        "--detach",
        "--name=foreign",
        "--network=host",
        "--volume=/usr:/usr:ro",
        NAME,
        "sleep",
        "1800",
    )
    lookalike = docker(
        rig,
        1,
        "run",
        "--detach",
        "--name=allranks-boxed-node1",
        "--network=host",
        "--volume=/usr:/usr:ro",
        "--label=org.allranks.home=/somebody/else",
        NAME,
        "sleep",
        "1800",
    )
    try:
        run_id = desk.run(boxed(desk, "--steps", 20000), "--detach", "--no-probe")["id"]
        desk.trains(run_id)
        ours = docker(rig, 1, "ps", "--no-trunc", "--quiet", "--filter", f"label=org.allranks.run={run_id}")
        # Somebody works in the container by hand: it goes on, and that is said.
        docker(rig, 1, "exec", "--detach", ours, "sh", "-c", "echo $$ > /tmp/stranger; exec sleep 1800")
        kept = desk.json("stop", run_id)
        assert (kept["state"], kept["left"]) == ("stopped", 0)
        assert [(f["id"], f["where"]["node"]) for f in kept["findings"]] == [("container-goes-on", "node1")]
        assert "a process lives (sleep)" in kept["findings"][0]["saw"]
        assert docker(rig, 1, "inspect", "--format", "{{.State.Running}}", ours) == "true"
        docker(rig, 1, "exec", ours, "sh", "-c", "kill $(cat /tmp/stranger)")
        stopped = desk.json("stop", run_id)
        assert (stopped["state"], stopped["left"], stopped["unreadable"]) == ("stopped", 0, {})
        assert "findings" not in stopped
        assert docker(rig, 1, "inspect", "--format", "{{.State.Running}}", ours) == "false"
        assert loops(rig) == []
        assert desk("clean", run_id, "-y").returncode == 0
        everything = docker(rig, 1, "ps", "--all", "--no-trunc", "--quiet").splitlines()
        assert sorted(everything) == sorted([foreign, lookalike])
        running = docker(rig, 1, "ps", "--no-trunc", "--quiet").splitlines()
        assert sorted(running) == sorted([foreign, lookalike])
    finally:
        docker(rig, 1, "rm", "--force", foreign, lookalike)


def loops(rig: Rig) -> list[str]:
    """Command lines of the training script that still live on any node, in containers too."""
    read = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"
    text = [rig.run(number, ["sh", "-c", read]).stdout.decode() for number in NODES]
    return [one for one in text if "/runs/scripts/" in one]


def test_a_killed_container_leaves_a_run_that_can_be_stopped_and_cleaned(desk: RigDesk, rig: Rig) -> None:
    run_id = desk.run(boxed(desk, "--steps", 20000), "--detach", "--no-probe")["id"]
    desk.trains(run_id)
    docker(rig, 1, "kill", ids(rig)[0])
    stopped = desk.json("stop", run_id)
    assert (stopped["state"], stopped["left"], stopped["unreadable"]) == ("lost", 0, {})
    assert loops(rig) == []


def test_ipc_host_makes_the_size_void_and_the_run_says_so(desk: RigDesk, rig: Rig) -> None:
    file = boxed(desk, container={"shm": "1GiB", "extra": {"ipc": "host"}})
    found = findings(desk.json("run", file))
    assert any("0.06 GiB; 1.00 GiB were asked for" in saw for saw in found["container-shm"])
    assert ids(rig) == ["", ""]  # what did not start leaves nothing


def test_a_missing_folder_makes_no_container_and_no_folder(desk: RigDesk, rig: Rig) -> None:
    mounts = [*MOUNTS, "/no/such/folder:/data"]
    found = findings(desk.json("run", boxed(desk, container={"mounts": mounts})))
    assert len(found["container-not-made"]) == 2
    assert all("/no/such/folder" in saw for saw in found["container-not-made"])
    for number in NODES:
        assert rig.run(number, ["ls", "/no"], check=False).returncode != 0


def test_a_node_that_does_not_have_the_heads_image_blocks(desk: RigDesk, rig: Rig) -> None:
    saved = rig.run(1, ["docker", "save", NAME]).stdout
    docker(rig, 2, "image", "rm", "--force", NAME)
    import_image(rig, 2, mark="another")
    try:
        # Without a registry the image is known by its id, which node2 has under no name.
        found = findings(desk.json("run", boxed(desk)))
        assert len(found["image-missing"]) == 1 and "node2" in found["image-missing"][0]
    finally:
        rig.run(2, ["docker", "load"], input=saved)


def test_a_container_of_our_name_that_is_not_ours_blocks(desk: RigDesk, rig: Rig) -> None:
    file = boxed(desk)
    desk.json("run", file, "--no-probe")
    name = docker(rig, 1, "ps", "--all", "--filter", "label=org.allranks.home", "--format", "{{.Names}}")
    desk("clean", "-y", "--files")
    planted = docker(
        rig,
        1,
        "run",
        "--detach",
        f"--name={name}",
        "--network=host",
        "--volume=/usr:/usr:ro",
        NAME,
        "sleep",
        "1800",
    )
    try:
        assert len(findings(desk.json("run", file))["container-foreign"]) == 1
        assert docker(rig, 1, "inspect", "--format", "{{.State.Running}}", planted) == "true"
    finally:
        docker(rig, 1, "rm", "--force", planted)
