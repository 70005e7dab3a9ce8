"""What Ray is asked, how its job's lines are read, and which machines of a cluster a run gets. No Ray is needed."""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from allranks import spec
from allranks.core import BadInput
from allranks.launch import jobs, starting
from allranks.launch.launchers import ray as ray_launcher
from allranks.launch.launchers.ray import driver
from allranks.launch.launchers.ray import nodes as ray_nodes
from allranks.launch.launchers.ray import words as ray
from allranks.launch.starting import Start
from allranks.node import processes, ray_cluster, ray_job, sweep
from allranks.node.paths import NodeDirectory, RunDirectory
from allranks.plan import make_plan
from allranks.runs import keeper_engine
from allranks.transport import Nodes

NODES = "nodes:\n  - {name: host-a, address: 10.0.0.1}\n  - {name: host-b, address: 10.0.0.2}\n"
SITE = "launch: {with: ray, address: '10.0.0.1:8265'}\n"
TRAIN = "train: {command: [x.py]}\n"
TOKEN = "a-token-of-the-cluster"


def launch(text: str = NODES + TRAIN, more: str = SITE) -> Start:
    run = spec.loads(text + more)
    scripts = {node.name: f"/h/runs/r/nodes/{node.name}/start.sh" for node in run.cluster.nodes}
    return starting.starting(run, make_plan(run, None, {}), scripts)


class Program:
    """A node's program that keeps what it was told."""

    def __init__(self, answer: dict[str, Any] | None = None):
        self.told: list[tuple[tuple[str, ...], Any]] = []
        self.answer = answer or {}

    async def call(self, *words: str, stdin: Any = None, timeout_seconds: float = 0) -> dict[str, Any]:
        self.told.append((words, stdin))
        return self.answer

    def argv(self, *words: str) -> list[str]:
        return ["python3", *words]


def begun(one: Start, answer: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Program]]:
    """What `ray submit` gets, and what the nodes were told before."""
    programs = {node.name: Program(answer) for node in one.nodes}
    nodes = Nodes(programs, {node.name: node for node in one.nodes})  # type: ignore[arg-type]  # it only calls
    words, stdin = asyncio.run(ray.begin(one, nodes, "r"))
    assert words == ["python3", "ray", "submit", "r"]
    return json.loads(stdin), programs


@pytest.mark.parametrize(
    ("version", "is_refused"), [("2.52.0", False), ("3.0.0", False), ("2.51.1", True), ("", True)]
)
def test_a_ray_that_would_let_everybody_in_is_refused(version: str, is_refused: bool) -> None:
    if not is_refused:
        ray_cluster.refuse_open(version)
        return
    with pytest.raises(BadInput, match=r"2\.52 and newer have it"):
        ray_cluster.refuse_open(version)


def test_the_version_of_ray_is_that_of_its_python() -> None:
    assert ray_cluster.ray_version("/nowhere/python") == ""
    assert ray_cluster.ray_version(sys.executable) == ""  # the tests' own Python has none


def test_the_job_of_a_sites_cluster_holds_no_token_and_is_named_after_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)
    wanted, programs = begun(launch())
    assert (wanted["address"], wanted["token"]) == ("http://10.0.0.1:8265", TOKEN)
    assert wanted["job"]["submission_id"] == "r" and TOKEN not in json.dumps(wanted["job"])
    (_, files) = programs["host-a"].told[0]
    assert TOKEN not in json.dumps(files)
    task = files["files"]["engine/ray.json"]
    assert [node["address"] for node in task["nodes"]] == ["10.0.0.1", "10.0.0.2"]
    assert [node["gpus"] for node in task["nodes"]] == [1, 1]
    assert programs["host-b"].told == []


def test_a_cluster_of_the_runs_own_is_started_on_the_head_first_with_a_token_that_is_new() -> None:
    answer = {"address": "10.0.0.1:6000", "dashboard": 6001, "python": "/opt/ray env/bin/python"}
    wanted, programs = begun(launch(more="launch: {with: ray}\n"), answer)
    (words, head), (_, worker) = programs["host-a"].told[0], programs["host-b"].told[0]
    assert words == ("ray", "up", "r", "host-a")
    assert (head["head"], head["peer"], worker["head"]) == (None, "10.0.0.2", "10.0.0.1:6000")
    assert head["token"] == worker["token"] and len(head["token"]) == 64
    assert wanted["address"] == "http://127.0.0.1:6001" and "token" not in wanted
    assert wanted["job"]["entrypoint"].startswith("exec '/opt/ray env/bin/python' /h/runs/r/engine/")


@pytest.mark.parametrize(
    ("text", "more", "match"),
    [
        (NODES.replace("10.0.0.2", "10.0.0.1") + "same_host: true\n", SITE, "more than one node"),
        (NODES, "launch: {with: ray, extra: [--verbose]}\n", "launch.extra"),
        (NODES, "launch: {with: ray, address: 'http://10.0.0.1:8265'}\n", "launch.address"),
    ],
)
def test_what_ray_cannot_be_told_is_refused(text: str, more: str, match: str) -> None:
    with pytest.raises(BadInput, match=match):
        begun(launch(text + TRAIN, more))


def test_the_start_of_rays_own_program_leaves_nothing_open(tmp_path: Path) -> None:
    node = NodeDirectory(str(tmp_path), "node-0")
    words = ray_cluster.start_words("/e/ray", node, "/tmp/x", {"peer": None, "gpus": 8}, 1234)
    assert {"--block", "--dashboard-host=127.0.0.1", "--port=0", "--num-gpus=8"} <= set(words)
    assert not {"stop", "--dashboard-host=0.0.0.0"} & set(words)
    worker = ray_cluster.start_words("/e/ray", node, "/tmp/x", {"head": "10.0.0.1:6000"}, None)
    assert "--address=10.0.0.1:6000" in worker and "--head" not in worker
    env = ray_cluster.environment({"PATH": "/bin", "RAY_ADDRESS": "other", "HF_TOKEN": "s"}, "/t")
    assert (env["RAY_AUTH_MODE"], env["RAY_AUTH_TOKEN_PATH"]) == ("token", "/t")
    assert "RAY_ADDRESS" not in env and "HF_TOKEN" not in env


def test_rays_folder_leaves_room_for_the_names_of_its_sockets() -> None:
    folder = ray_cluster.new_folder(RunDirectory("a-very-long-name-1121-abcd"), "node-with-a-long-name")
    longest = f"{folder}/r/session_2026-11-21_08-22-40_291187_3054321/sockets/plasma_store"
    assert len(longest) < 107


def test_ray_is_found_beside_the_environments_python_and_its_python_in_its_first_line(tmp_path: Path) -> None:
    for place in ("env", "site"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "ray").write_text(f"#!{tmp_path}/{place}/python3.11\n")
        (tmp_path / place / "python3.11").write_text("")
        for name in ("ray", "python3.11"):
            (tmp_path / place / name).chmod(0o755)
    own, site = str(tmp_path / "env" / "ray"), str(tmp_path / "site" / "ray")
    assert ray_cluster.find_ray(f"{tmp_path}/env/python", str(tmp_path / "site")) == own
    assert ray_cluster.find_ray(f"{tmp_path}/none/python", str(tmp_path / "site")) == site
    assert ray_cluster.find_ray("python3", str(tmp_path)) is None
    assert ray_cluster.python_of(own) == f"{tmp_path}/env/python3.11"


def test_only_a_folder_of_ones_own_is_removed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "link").symlink_to(target)
    ray_cluster.remove(str(tmp_path / "link"))
    assert target.exists()
    ray_cluster.remove(str(target))
    assert not target.exists()


def test_what_a_killed_holder_left_is_found_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLRANKS_HOME", str(tmp_path))
    directory = RunDirectory("r")
    directory.create(node="node-0")
    folder = Path(ray_cluster.new_folder(directory, "node-0"))
    folder.mkdir()
    try:
        (folder / "socket").write_text("")
        assert sweep.sweep("r", dry_run=True)["files"] == [str(folder)]
        sweep.sweep("r")
        assert not folder.exists()
    finally:
        ray_cluster.remove(str(folder))


def test_a_folder_that_another_user_made_first_is_in_nobodys_way(tmp_path: Path) -> None:
    directory = RunDirectory("r", str(tmp_path))
    one, other = ray_cluster.new_folder(directory, "node-0"), ray_cluster.new_folder(directory, "node-0")
    assert one != other
    try:
        Path(one).symlink_to(tmp_path)
        Path(other).mkdir()
        assert ray_cluster.folders_of(directory, "node-0") == [other], "a link is not ours"
        assert ray_cluster.folders_of(directory, "node-00") == []
    finally:
        Path(one).unlink()
        ray_cluster.remove(other)


def test_the_supervisor_is_known_by_pid_and_start_time_of_what_its_actor_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLRANKS_HOME", str(tmp_path))
    directory = RunDirectory("r")
    directory.create(node="node-0")
    node = directory.node("node-0")
    holder = ray_cluster.Holder(directory, node, ["ray"], {}, "/tmp/none")
    assert not holder._supervisor_stands()
    record = {"pid": os.getpid(), "start_time": processes.start_time(os.getpid())}
    (Path(node.root) / "ray-guard.json").write_text(json.dumps(record))
    assert holder._supervisor_stands()
    (Path(node.root) / "ray-guard.json").write_text(json.dumps({**record, "start_time": 1}))
    assert not holder._supervisor_stands()


def test_the_heads_supervisor_looks_for_what_the_driver_says() -> None:
    run = spec.loads(NODES + TRAIN + SITE + "save: {notice: [asks, us]}\n")
    words = jobs.notice_command(run, "/h/runs/r")
    assert words[-3:] == ["/h/runs/r/leaving", "asks", "us"]
    assert ray.task(launch(), "r", "/h/runs/r")["leaving"] == "/h/runs/r/leaving"


# ---- the job API ----


class Dashboard(http.server.BaseHTTPRequestHandler):
    status = "RUNNING"
    jobs: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        self.jobs.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._answer({"submission_id": "r"})

    def do_GET(self) -> None:
        if self.path.startswith("/api/v0/nodes"):
            row = {"node_ip": "10.0.0.1", "node_name": "10.0.0.1", "state": "ALIVE", "is_head_node": True}
            gone = {**row, "node_ip": "10.0.0.9", "state": "DEAD"}
            self._answer({"data": {"result": {"result": [row, gone]}}})
        elif self.path.endswith("/logs"):
            self._answer({"logs": "python: not found\n"})
        else:
            self._answer({"status": self.status, "message": "it failed"})

    def _answer(self, value: Any) -> None:
        known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        body = json.dumps(value).encode() if known else b"Unauthorized: Missing authentication token"
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def dashboard() -> Iterator[str]:
    Dashboard.jobs, Dashboard.status = [], "RUNNING"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Dashboard)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def wanted(dashboard: str, tmp_path: Path, **more: Any) -> dict[str, Any]:
    job = {"submission_id": "r", "entrypoint": "x"}
    return {"address": dashboard, "token": TOKEN, "log": str(tmp_path / "log"), "job": job, **more}


def test_lines_of_the_driver_are_handed_on_until_everything_has_been_started(
    dashboard: str, tmp_path: Path
) -> None:
    (tmp_path / "log").write_text(f"one\n{ray_job.READY}\nlater\n")
    head = {"name": "node1", "address": "10.0.0.1"}
    assert list(ray_job.submit(wanted(dashboard, tmp_path, head=head))) == ["one", ray_job.READY]
    assert Dashboard.jobs[0]["entrypoint_resources"] == {"node:10.0.0.1": 0.001}
    assert driver.READY == ray_job.READY and driver.READY in driver.DRIVER


def test_a_job_that_ends_before_the_start_says_why(
    dashboard: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_job, "LOOK_SECONDS", 0.0)
    Dashboard.status = "FAILED"
    lines = list(ray_job.submit(wanted(dashboard, tmp_path)))
    assert "it failed" in lines[-1] and "python: not found" in lines[-1]
    assert starting.failure(ray_launcher.LAUNCHER, lines, [], 1).id == "engine-failed"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"token": "another"}, "the cluster refuses the token"),
        ({"address": "http://127.0.0.1:1"}, "nothing answers at launch.address"),
        ({"head": {"name": "node7", "address": "10.0.0.9"}}, "it is not in the cluster"),
    ],
)
def test_a_cluster_that_says_no_is_named(
    dashboard: str, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    lines = list(ray_job.submit({**wanted(dashboard, tmp_path), **change}))
    assert len(lines) == 1 and starting.blamed(lines[0], ray_launcher.LAUNCHER) is not None
    assert said in starting.failure(ray_launcher.LAUNCHER, lines, [], 1).saw
    assert TOKEN not in lines[0] and "another" not in lines[0]


def test_the_token_is_looked_for_where_ray_looks(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("of-a-file\n")
    assert ray_job.token_of({"token": "given"}, {"RAY_AUTH_TOKEN": "own"}) == "given"
    assert ray_job.token_of({"token_file": str(tmp_path / "t")}, {"RAY_AUTH_TOKEN": "own"}) == "of-a-file"
    assert ray_job.token_of({}, {"RAY_AUTH_TOKEN": "own"}) == "own"
    assert ray_job.token_of({}, {"RAY_AUTH_TOKEN_PATH": str(tmp_path / "t")}) == "of-a-file"
    assert ray_job.token_of({}, {"RAY_AUTH_TOKEN_PATH": str(tmp_path / "none")}) is None


# ---- which machines ----


def machine(name: str, gpus: float, head: bool = False) -> dict[str, Any]:
    return {"name": name, "address": name.replace("m", "10.0.0."), "gpus": gpus, "head": head}


def test_a_number_of_nodes_takes_the_clusters_head_first_and_machines_with_enough_gpus() -> None:
    run = spec.loads("nodes: 2\ngpus: 8\n" + TRAIN + SITE)
    there = [machine("m1", 8), machine("m2", 4), machine("m3", 8, head=True)]
    placed = ray_nodes.placed(run, there)
    assert [(n.name, n.address) for n in placed.cluster.nodes] == [("m3", "10.0.0.3"), ("m1", "10.0.0.1")]
    assert placed.nodes_known
    on_cpu = spec.loads("nodes: 3\ngpus: {count: 8, model: cpu}\n" + TRAIN + SITE)
    assert len(ray_nodes.placed(on_cpu, there).cluster.nodes) == 3
    with pytest.raises(BadInput, match="1 machines of the Ray cluster"):
        ray_nodes.placed(run, there[:2])
    with pytest.raises(BadInput, match="names no machine"):
        asyncio.run(ray_nodes.chosen(spec.loads("nodes: 2\n" + TRAIN + "launch: {with: ray}\n")))


# ---- what the keeper hears ----


def test_a_lost_actor_is_a_finding_once_and_lines_of_strangers_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLRANKS_HOME", str(tmp_path))
    directory = RunDirectory("r")
    lost = keeper_engine.Lost(directory, ["node1"])
    assert lost.take() == []
    folder = Path(directory.root) / "engine"
    folder.mkdir(parents=True)
    lines = [{"node": "node1", "why": "worker died"}, {"node": "other"}, {"node": ["node1"]}]
    (folder / "lost.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "no json\n")
    found = lost.take()
    assert [(one.id, one.where.node) for one in found] == [("ray-actor-died", "node1")]
    assert "worker died" in found[0].saw and lost.take() == []


def test_the_driver_names_rays_own_reason() -> None:
    text = driver.DRIVER
    compile(text, "ray_driver.py", "exec")
    names: dict[str, Any] = {}
    start, end = text.index("def why_of"), text.index("def main")
    exec("import re\n" + text[start:end], names)  # the rest needs Ray
    message = "The actor died before it was done.\n\tpid: 3\nThe actor is dead because its worker has died."
    assert names["why_of"](Exception(message)) == "The actor is dead because its worker has died."
    assert names["why_of"](Exception("something\nelse")) == "something else"
