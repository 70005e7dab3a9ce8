"""The rendezvous port: what a dead run of ours holds is freed, a stranger's is reported with another free one."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from allranks.node import processes
from allranks.node.paths import RunDirectory
from tests.harness import free_port
from tests.harness.desk import Desk

pytestmark = pytest.mark.training
LISTEN = """
import socket, sys, time
server = socket.create_server(("", int(sys.argv[1])))
print("on", flush=True)
time.sleep(900)
"""


@pytest.fixture
def port() -> int:
    return free_port()


def listener(port: int, **environment: str) -> subprocess.Popen:
    argv = [sys.executable, "-c", LISTEN, str(port)]
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, start_new_session=True, env={**os.environ, **environment}
    )
    assert process.stdout is not None and process.stdout.readline() == b"on\n"
    return process


def test_what_a_dead_run_of_ours_holds_is_freed(runner: Desk, port: int) -> None:
    directory = RunDirectory("earlier-1", str(runner.home))
    directory.create(node="old")
    process = listener(port, ALLRANKS_RUN_ID="earlier-1")
    try:
        left = processes.identify("old", "earlier-1", process.pid)
        line = {
            **processes.record_of(left),
            "at": time.time(),
            "session": process.pid,
            "ppid": 1,
            "name": "python",
        }
        Path(directory.node("old").processes).write_text(json.dumps(line) + "\n")
        answer = runner.json("run", runner.light("--steps", 2, nodes="node-0", network={"port": port}))
        assert answer["runs"][0]["state"] == "succeeded", answer
        assert process.wait(timeout=60) != 0
    finally:
        process.kill()
        process.wait()


def test_a_strangers_port_is_reported_with_a_free_one(runner: Desk, port: int) -> None:
    process = listener(port)
    try:
        answer = runner.json("run", runner.light("--steps", 2, nodes="node-0", network={"port": port}))
        (finding,) = [f for f in answer["findings"] if f["id"] == "port-held"]
        assert f"pid {process.pid}" in finding["saw"]
        proposal = int(finding["fix"].split("port: ")[1].split("}")[0])
        with socket.create_server(("", proposal)):
            pass
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
