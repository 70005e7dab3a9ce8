"""One suite for all engines: the same run, started by ssh, pdsh, mpirun and Ray on three machines of the rig.

Ray is a cluster that stands on them already; `test_engine_ray.py` has the one that a run brings with it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import until
from tests.harness.live_page import LivePage
from tests.harness.on_rig import HeadDesk, RigDesk, lines_of, machines
from tests.rig.ray_site import asked, have_ray, start_ray
from tests.rig.rig import STATE, Rig

pytestmark = [pytest.mark.rig, pytest.mark.training]
LOOP = Path(__file__).parent / "scripts" / "tell_and_loop.py"
CANARY = "canary-" + os.urandom(8).hex()  # not in this file: a checkout may lie where it is looked for
ENGINES = ("ssh", "pdsh", "mpi", "deepspeed", "ray")
LIGHTLY = ("pdsh", "deepspeed")
"""Engines whose run needs no torch here: mpirun and Ray put more into the ranks' environment than ssh does."""

KEPT = ("ssh", "ray")
"""One of those that have ended before the first step, which leave supervisors alone whatever they are, and the one
whose own processes stay for as long as the run."""

KILLED = ("--fault", "kill", "--rank", 1, "--at", 2, "--steps", 400)
TWO = "node[1-2]"
LAUNCH = {"ray": {"with": "ray", "address": "auto"}, "own-ray": {"with": "ray"}}
HOSTILE = {
    "CONTRACT_BLANKS": "two words, and a comma",
    "CONTRACT_SHELL": "$(touch /tmp/owned) `id` \"double\" 'single' ; # %n %h",
    "CONTRACT_LETTERS": "Grüße \\ ✓",
}


rig = machines(3)


@pytest.fixture(scope="module")
def site(rig: Rig) -> Rig:
    """A Ray cluster with a token over all three; the engine itself reads the token where Ray keeps it."""
    have_ray(rig)
    start_ray(rig)
    return rig


@pytest.fixture
def desk(rig: Rig, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RigDesk]:
    if request.node.callspec.params["engine"] == "ray":
        request.getfixturevalue("site")
    with RigDesk(rig, tmp_path, {"CANARY_TOKEN": CANARY}) as desk:
        yield desk


def keys_of(engine: str, **keys: Any) -> dict[str, Any]:
    return {"name": "contract", "launch": LAUNCH.get(engine, {"with": engine}), **keys}


def living(rig: Rig) -> list[str]:
    """Command lines of what belongs to a run, an engine or a training, on any node."""
    words = (
        "_loop.py",
        "torch.distributed",
        "bundles/",
        "import hashlib, json",
        "orted",
        "mpirun",
        "pdsh",
        "ray_driver.py",
        "ray::Supervisor",
    )
    lines = (line for number in (1, 2, 3) for line in lines_of(rig, number))
    return [line for line in lines if any(word in line for word in words)]


def nothing_lives(rig: Rig) -> None:
    until(lambda: not living(rig), lambda: living(rig), 120.0, 0.2)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_outlives_its_launchers_and_ends_well_with_environment_ranks_logs_and_secret_kept(
    engine: str, desk: RigDesk, rig: Rig
) -> None:
    go = f"/nfs/go-{ENGINES.index(engine)}"  # no word that is looked for below
    made = desk.light if engine in LIGHTLY else desk.file
    keys = keys_of(engine, env=HOSTILE, secrets=["CANARY_TOKEN"])
    file = made("--steps", 100000, "--until", go, script=LOOP, **keys)
    run = desk.run(file, "--detach", *(() if engine == "ssh" else ("--no-probe",)))
    # Nothing of the controller or of the launcher lives any more: only supervisors and what they started.
    desk.trains(run["id"], 3)

    def of_launchers() -> list[str]:
        return [line for line in living(rig) if "orted" in line or "pdsh" in line]

    until(lambda: not of_launchers(), of_launchers)
    assert desk.state(run["id"])["state"] == "running"
    (STATE / "nfs" / Path(go).name).touch()
    desk.ended(run["id"])
    assert desk.state(run["id"])["state"] == "succeeded"

    # Each rank on its own machine, in the order of the run file.
    plan = json.loads(rig.run(1, ["cat", f"/root/.allranks/runs/{run['id']}/plan.json"]).stdout)
    assert [(one["rank"], one["node"]) for one in plan["ranks"]] == [(0, "node1"), (1, "node2"), (2, "node3")]
    logs = desk("logs", run["id"]).stdout
    for rank in range(3):
        assert f"(node{rank + 1}, {rank}) step 2" in logs

    # The values arrived as written; the secret stands in no file of the run.
    for number in (1, 2, 3):
        log = f"/root/.allranks/runs/{run['id']}/nodes/node{number}/logs/rank-{number - 1}.log"
        got = rig.run(number, ["grep", "-m1", "GOT ", log]).stdout.decode()
        assert json.loads(got.partition("GOT ")[2]) == HOSTILE
        holding = ["grep", "-r", "-l", CANARY, "/root/.allranks", "/tmp"]
        assert rig.run(number, holding, check=False).stdout == b""
        assert rig.run(number, ["test", "-e", "/tmp/owned"], check=False).returncode == 1
    nothing_lives(rig)


@pytest.mark.parametrize("engine", KEPT)
def test_a_dead_rank_is_named_and_nothing_is_left(engine: str, desk: RigDesk, rig: Rig) -> None:
    run = desk.run(desk.light(*KILLED, **keys_of(engine, nodes=TWO)), "--no-probe")
    where = run["diagnosis"]["where"]
    assert (run["state"], where["node"], where["rank"]) == ("failed", "node2", 1)
    nothing_lives(rig)


@pytest.mark.parametrize("engine", KEPT)
def test_the_live_page_shows_a_run_and_stop_leaves_nothing(engine: str, desk: RigDesk, rig: Rig) -> None:
    run = desk.run(desk.light("--steps", 4000, **keys_of(engine, nodes=TWO)), "--detach", "--no-probe")
    desk.trains(run["id"])
    with LivePage(desk, run["id"]) as page:
        assert page.ranks()["nodes"] == ["node1", "node2"]
    stopped = desk.json("stop", run["id"])
    assert desk.state(run["id"])["state"] == "stopped", stopped
    nothing_lives(rig)


def test_ray_chooses_the_nodes_and_its_own_stop_leaves_nothing(site: Rig) -> None:
    """`nodes: 3`, asked of the dashboard where it is reached; ended by `ray job stop` with the run's id."""
    head = HeadDesk(site)
    run = head.run(
        head.file("--steps", 4000, script=LOOP, **keys_of("ray", nodes=3)), "--detach", "--no-probe"
    )
    assert run["nodes"] == ["10.77.0.2", "10.77.0.3", "10.77.0.4"]
    head.trains(run["id"])
    stopped = asked(site, 1, "job", "stop", run["id"], "--address", "http://127.0.0.1:8265")
    assert stopped.returncode == 0, stopped.stdout
    head.ended(run["id"], "stopped")
    nothing_lives(site)


REFUSED = ["-p", "tcp", "--dport", "22", "-s", "10.77.0.2", "-j", "REJECT", "--reject-with", "tcp-reset"]


@contextlib.contextmanager
def cut_off(rig: Rig, engine: str) -> Iterator[dict[str, Any]]:
    """node3 cannot be started by the engine: the head's SSH to it is refused (the controller's is not), or Ray's
    program fails there. Gives the keys of the run."""
    if engine == "own-ray":
        have_ray(rig)
        broken = (
            "rm -f /usr/local/bin/ray; printf '#!/bin/sh\\necho no Ray today; exit 3\\n' >/usr/local/bin/ray"
        )
        rig.run(3, ["sh", "-c", broken + "; chmod +x /usr/local/bin/ray"])
        try:
            yield {}
        finally:
            have_ray(rig)
        return
    rig.run(3, ["iptables", "-A", "INPUT", *REFUSED])
    try:
        yield {"accept": ["ssh-between-nodes"]}
    finally:
        rig.run(3, ["iptables", "-D", "INPUT", *REFUSED])


@pytest.mark.parametrize(
    ("engine", "why"),
    [("pdsh", "refused"), ("mpi", "refused"), ("own-ray", "the version of this Ray is not known")],
)
def test_a_node_that_the_engine_cannot_start_is_named_and_all_is_undone(
    engine: str, why: str, desk: RigDesk, rig: Rig
) -> None:
    folders = ["sh", "-c", "ls -d /root/.allranks/runs/* /tmp/allranks-ray-*"]
    before = {number: rig.run(number, folders, check=False).stdout.decode().split() for number in (1, 2, 3)}
    with cut_off(rig, engine) as keys:
        said = desk.json("run", desk.light(**keys_of(engine, **keys)), "--no-probe")
    assert (said["runs"], said["stopped_by"]) == ([], ["engine-failed"])
    finding = next(one for one in said["findings"] if one["id"] == "engine-failed")
    assert finding["where"]["node"] == "node3" and why in finding["saw"], finding
    nothing_lives(rig)
    for number in (1, 2, 3):
        left = rig.run(number, folders, check=False).stdout.decode().split()
        assert left == before[number]


RANKS = """\
import json, os, socket
import torch
from torch import distributed

distributed.init_process_group("gloo")
total = torch.tensor([distributed.get_rank() + 1])
distributed.all_reduce(total)
got = {name: value for name, value in os.environ.items() if name.startswith("CONTRACT_")}
place = [distributed.get_rank(), socket.gethostname(), int(os.environ["LOCAL_RANK"]), total.item()]
with open(f"/nfs/told/{distributed.get_rank()}.json", "w") as told:  # mpirun may join two ranks' lines
    json.dump([place, got], told)
distributed.destroy_process_group()
"""


def test_mpirun_starts_one_process_a_rank_as_rendered(rig: Rig, tmp_path: Path) -> None:
    """The way of a site without torchrun: mpirun's ranks are the run file's, over the interface that it names."""
    (STATE / "nfs" / "ranks.py").write_text(RANKS)
    (STATE / "nfs" / "told").mkdir()
    desk = RigDesk(rig, tmp_path)
    network, gpus = {"interface": "eth0"}, {"count": 2, "model": "cpu"}
    file = desk.file(
        script=Path("/nfs/ranks.py"), name="ranks", nodes=TWO, gpus=gpus, env=HOSTILE, network=network
    )
    rendered = desk("plan", file, "--render", "mpi", "-o", STATE / "nfs" / "rendered")
    assert rendered.returncode == 0, rendered.stderr
    root = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"]
    done = rig.run(1, [*root, "/nfs/rendered/mpirun-ranks.sh"], check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    told = sorted(json.loads(file.read_text()) for file in (STATE / "nfs" / "told").iterdir())
    assert [place for place, _ in told] == [
        [0, "node1", 0, 10],
        [1, "node1", 1, 10],
        [2, "node2", 0, 10],
        [3, "node2", 1, 10],
    ]
    assert all(got == HOSTILE for _, got in told)
    nothing_lives(rig)
