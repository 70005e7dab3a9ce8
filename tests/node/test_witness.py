"""What is seen of a job that is not ours: which processes are its ranks, and where they are, by reading alone."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from allranks.node import processes
from allranks.node.processes import Stat
from allranks.node.witness import echo, job_ranks, look, stacks, tcp_info
from allranks.runs import job_witness
from allranks.transport import memory_program
from tests.harness import until

RANK = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "MASTER_PORT": "29500", "TOKEN": "secret"}
ME = 1000


class Tree:
    """A table of processes: {pid: (parent, program, environment, owner)}."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, rows: dict[int, tuple[int, str, dict[str, str], int]]
    ):
        table = {pid: Stat(pid, row[1], "S", row[0], 1, pid, 0) for pid, row in rows.items()}
        monkeypatch.setattr(processes, "table", lambda: table)
        monkeypatch.setattr(processes, "owner", lambda pid: rows[pid][3])
        monkeypatch.setattr(processes, "read_environ", self.environ)
        monkeypatch.setattr(job_ranks, "program", lambda pid: f"/usr/bin/{rows[pid][1]}")
        monkeypatch.setattr(os, "getuid", lambda: ME)
        self.rows, self.read = rows, []

    def environ(self, pid: int) -> dict[str, str]:
        self.read.append(pid)
        return self.rows[pid][2]


def ranks(**options) -> list[tuple[int, int]]:
    return [(one.pid, one.rank) for one in job_ranks.find(**options).ranks]


def test_a_rank_is_the_highest_process_with_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    loader, helper = (21, "python3", RANK, ME), (22, "gcc", RANK, ME)
    rows = {20: (1, "python3", {"HOME": "/"}, ME), 21: (20, "python3.11", RANK, ME), 22: loader, 23: helper}
    Tree(monkeypatch, rows)
    (one,) = job_ranks.find().ranks
    assert (one.pid, one.rank, one.world_size, one.local_rank) == (21, 1, 2, 1)
    assert "TOKEN" not in one.env


def test_a_shell_that_starts_the_python_is_not_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    Tree(monkeypatch, {20: (1, "bash", RANK, ME), 21: (20, "python3", RANK, ME)})
    assert ranks() == [(21, 1)]


def test_a_launcher_whose_own_rank_is_that_of_its_node_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = {"RANK": "1", "WORLD_SIZE": "2"}
    inner = [{**RANK, "RANK": str(n), "WORLD_SIZE": "4", "LOCAL_RANK": str(n - 2)} for n in (2, 3)]
    Tree(
        monkeypatch,
        {20: (1, "python3", pod, ME), 21: (20, "python3", inner[0], ME), 22: (20, "python3", inner[1], ME)},
    )
    assert ranks() == [(21, 2), (22, 3)]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"}, [(20, 3)]),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "7"}, [(20, 0)]),
        ({"RANK": "4", "WORLD_SIZE": "4"}, []),
        ({"RANK": "x", "WORLD_SIZE": "4"}, []),
        ({"RANK": "0"}, []),
    ],
)
def test_launchers_name_ranks_in_their_own_ways(monkeypatch: pytest.MonkeyPatch, environ, expected) -> None:
    Tree(monkeypatch, {20: (1, "python3", environ, ME)})
    assert ranks() == expected


def test_others_processes_are_counted_and_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(
        monkeypatch, {20: (1, "python3", RANK, ME + 1), 21: (1, "sshd", RANK, 0), 22: (1, "python3", RANK, 0)}
    )
    found = job_ranks.find()
    assert (found.ranks, found.others, tree.read) == ([], 2, [])


def test_with_sudo_the_ranks_are_those_of_who_called_it(monkeypatch: pytest.MonkeyPatch) -> None:
    Tree(monkeypatch, {20: (1, "python3", RANK, ME + 1), 21: (1, "python3", RANK, ME + 2)})
    monkeypatch.setenv("SUDO_UID", str(ME + 1))
    assert ranks() == []  # anybody may set a variable
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert ranks() == [(20, 1)]


def test_one_job_is_chosen_by_a_process_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**RANK, "MASTER_PORT": "29501"}
    Tree(
        monkeypatch,
        {20: (1, "python3", RANK, ME), 21: (20, "python3", RANK, ME), 30: (1, "python3", other, ME)},
    )
    assert ranks(pid=21) == [(20, 1)]
    assert ranks(pid=30) == [(30, 1)]
    assert ranks(pid=99) == []


def test_one_job_is_chosen_by_slurms_number(monkeypatch: pytest.MonkeyPatch) -> None:
    Tree(monkeypatch, {20: (1, "python3", {**RANK, "SLURM_JOB_ID": "7"}, ME), 21: (1, "python3", RANK, ME)})
    assert ranks(slurm_job="7") == [(20, 1)]


def test_all_that_the_look_imports_travels() -> None:
    """From memory alone: a module that is left out would be looked for on the node."""
    carried = memory_program.modules(job_witness.MODULES)
    for name, (_, text) in carried.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("allranks"):
                parts = {f"{node.module}.{alias.name}" for alias in node.names}
                assert node.module in carried or parts <= carried.keys(), f"{name}: {node.module}"


def test_the_kernel_tells_of_connections() -> None:
    import socket

    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as ours,
    ):
        ours.sendall(b"x" * 100)
        found = tcp_info.connections().get(os.fstat(ours.fileno()).st_ino)
        assert found is not None
        assert found.remote == f"127.0.0.1:{server.getsockname()[1]}"
        assert found.sent_bytes <= 101 and found.resent == 0  # the connection's own start counts as one


def test_a_machine_that_lives_answers_a_datagram_that_nobody_takes() -> None:
    assert echo.reach({"from": "127.0.0.1", "to": ["127.0.0.2", "no address"], "seconds": 2.0}) == {
        "answered": {"127.0.0.2": True, "no address": False}
    }


SCRIPT = """
import sys, threading, time
class Été:
    def nap(self, depth):
        if depth:
            return self.nap(depth - 1)
        print("there", flush=True)
        time.sleep(
            60)
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
exec("def each():\\n    list(map(Été().nap, [2]))\\n    yield 1\\n")
for _ in each(): pass
"""
FOLDERS = ["/usr/bin", "/usr/local/bin", *map(str, Path.home().glob(".pyenv/versions/3.*/bin"))]
PYTHONS = [path for n in range(8, 15) if (path := shutil.which(f"python3.{n}", path=":".join(FOLDERS)))]
"""Whatever there is of those that a node may have."""


@pytest.mark.lengthy
@pytest.mark.parametrize("python", [sys.executable, *PYTHONS])
def test_a_stack_is_read_from_outside_under_each_python(python: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    child = subprocess.Popen([python, str(script)], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None and child.stdout.readline() == b"there\n"
        until(lambda: processes.read_stat(child.pid).state == "S")  # type: ignore[union-attr]  # it lives
        asked = json.dumps({"pids": [child.pid], "at": [0.0, 0.05]})
        words = [python, "-I", "-S", "-B", "-c", job_witness.reader()]
        done = subprocess.run(words, input=asked, capture_output=True, text=True, timeout=60)
        answer = json.loads(done.stdout)
        assert answer["why"] == {}, done.stderr
        first, second = (look[str(child.pid)] for look in answer["looks"])
        assert first == second
        places = [(Path(file).name, line, name.rpartition(".")[2]) for file, line, name, _ in first]
        naps = [("script.py", 6, "nap"), ("script.py", 6, "nap"), ("script.py", 8, "nap")]
        assert places == [("script.py", 12, "<module>"), ("<string>", 2, "each"), *naps]
        assert processes.read_stat(child.pid).state == "S"  # type: ignore[union-attr]
    finally:
        child.kill()
        child.wait()


PYSPY = """#!/bin/sh
echo '[{"thread_name": "MainThread", "frames": [{"filename": "a.py", "line": 7, "name": "inner"},'
echo ' {"filename": "a.py", "line": 3, "name": "outer"}]}]'
"""


@pytest.mark.lengthy
@pytest.mark.parametrize("installed", [True, False])
def test_where_its_own_python_cannot_read_it_pyspy_does(
    installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a rank in a container."""
    spy = tmp_path / "py-spy"
    spy.write_text(PYSPY)
    spy.chmod(0o700 if installed else 0o600)
    environ = {"PATH": f"{tmp_path}:/bin:/usr/bin", "RANK": "0", "WORLD_SIZE": "2"}
    monkeypatch.setattr(stacks, "not_here", lambda *_: "it runs in a container")
    monkeypatch.setattr(
        os, "nice", lambda _: 0
    )  # else this process of the tests is nice to all others from now on
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env=environ)
    try:
        until(lambda: processes.read_environ(child.pid) == environ)
        (rank,) = look.observe({"seconds": 0.2, "pid": child.pid})["ranks"]
    finally:
        child.kill()
        child.wait()
    if installed:
        assert (rank["by"], rank["why"]) == ("py-spy", "")
        assert rank["stacks"] == [[["a.py", 3, "outer", None], ["a.py", 7, "inner", None]]] * 2
    else:
        assert (rank["stacks"], rank["why"]) == ([], "it runs in a container; py-spy is not installed")


def test_storage_that_does_not_answer_holds_no_look_up() -> None:
    hangs = threading.Event()
    try:
        assert stacks.within(0.05, hangs.wait) is None
        assert stacks.within(60.0, lambda: "") == ""
    finally:
        hangs.set()
