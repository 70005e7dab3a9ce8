"""`start`: the supervisor outlives its starter, its terminal and its folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from allranks import transport
from allranks.core import BadInput, Node, process_from_json
from allranks.node import open_files, paths, processes
from allranks.node.start import read_order

KEY = bytes(range(32))
HEAD = """
import sys, threading
from allranks.node.supervisor_link import Listener
from allranks.node.program import main

class Keeper(threading.Thread):
    def __init__(self, directory, job, key, secrets):
        super().__init__(daemon=True)
        self.directory, self.job = directory, job
        self.listener = Listener(key, "127.0.0.1")
        self.port = self.listener.port

    def run(self):
        from allranks.node.paths import read_json, write_json
        from allranks.node.processes import identify, record_of
        me = identify(self.job["node"], self.job["run_id"])
        write_json(self.directory.keeper.identity, {"process": record_of(me), "port": self.port})
        write_json(self.directory.keeper.state, {"id": self.job["run_id"], "state": "running"})
        kinds = []
        while "swept" not in kinds:
            for message in self.listener.poll(0.05):
                if message.kind == "joined":
                    self.listener.send(message.node, {"lease": 30, "start": 0})
                kinds.append(message.data.get("event", {}).get("kind"))
            if read_json(self.directory.keeper.stop) and "stopping" not in kinds:
                self.listener.send(self.job["node"], {"stop": 0.2})
        write_json(self.directory.keeper.state, {"id": self.job["run_id"], "state": "stopped"})
        self.listener.send(self.job["node"], {"bye": True})
        self.listener.close()

def keep(directory, job, key, secrets):
    keeper = Keeper(directory, job, key, secrets)
    keeper.start()
    return keeper

sys.exit(main(sys.argv[1:], keep))
"""


def call(*words, stdin=None, program=("-m", "allranks.node"), **more):
    done = subprocess.run(
        [sys.executable, *program, *words],
        input=json.dumps(stdin or {}).encode(),
        capture_output=True,
        timeout=120,
        **more,
    )
    assert done.stdout.count(b"\n") == 1, (done.stdout, done.stderr)
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def started(field):
    """Starts detached; the field ends what was started."""

    def start(job, program=("-m", "allranks.node"), **more):
        code, answer = call("start", field.run_id, "node-0", stdin=field.order(job), program=program, **more)
        if "supervisor" in answer:
            field.daemons.append(process_from_json(answer["supervisor"]))
        return code, answer

    return start


def test_the_answer_names_the_supervisor_which_runs_on(field, started):
    code, answer = started(field.job(field.tree(name="torchrun")))
    assert (code, answer["keeper"]) == (0, None)
    supervisor = process_from_json(answer["supervisor"])
    assert processes.still(supervisor) and supervisor.run_id == field.run_id
    assert paths.read_json(field.node.supervisor)["pid"] == supervisor.pid
    stat = processes.read_stat(supervisor.pid)
    assert stat.session not in (os.getsid(0), supervisor.pid), "it can never get a terminal again"
    assert os.readlink(f"/proc/{supervisor.pid}/cwd") == "/"
    targets = {os.readlink(f"/proc/{supervisor.pid}/fd/{fd}") for fd in (0, 1, 2)}
    assert targets == {"/dev/null", field.node.supervisor_log}
    field.say(start=0)
    field.process("torchrun")
    assert KEY.hex() not in Path(f"/proc/{supervisor.pid}/cmdline").read_text()


def test_a_closed_terminal_ends_nothing(field, started):
    _, answer = started(field.job(field.tree(name="torchrun")), start_new_session=True)
    supervisor = process_from_json(answer["supervisor"])
    field.say(start=0)
    torchrun = field.process("torchrun")
    processes.signal(supervisor, signal.SIGHUP)
    time.sleep(0.3)
    assert processes.still(supervisor) and processes.still(torchrun)


def test_the_supervisor_lives_when_its_starter_is_killed_while_it_waits(field, started, tmp_path):
    """SIGKILL of the whole process group of the starter, as when an SSH session breaks."""
    slow = "import time, sys\nfrom allranks.node.program import main\nmain(sys.argv[1:]); time.sleep(60)"
    starter = subprocess.Popen(
        [sys.executable, "-c", slow, "start", field.run_id, "node-0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    order = field.order(field.job(field.tree(name="torchrun")))
    starter.stdin.write(json.dumps(order).encode())
    starter.stdin.close()
    supervisor = process_from_json(json.loads(starter.stdout.readline())["supervisor"])
    os.killpg(starter.pid, signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    field.daemons.append(supervisor)
    field.say(start=0)
    assert processes.still(field.process("torchrun")) and processes.still(supervisor)


def test_a_second_supervisor_of_one_node_is_refused(field, started):
    _, first = started(field.job(field.tree(name="torchrun")))
    code, second = started(field.job(field.tree(name="torchrun")))
    assert code == 1
    assert second == {"error": f"the supervisor of node-0 runs already: pid {first['supervisor']['pid']}"}


def test_the_heads_supervisor_brings_its_keeper_and_stop_ends_both(field, started):
    job = field.job(field.tree(name="torchrun"), node_rank=0, keeper={"host": "127.0.0.1", "port": 0})
    code, answer = started(job, program=("-c", HEAD))
    assert code == 0 and answer["keeper"]["port"] > 1023
    supervisor = process_from_json(answer["supervisor"])
    field.process("torchrun")
    assert call("read", "status", field.run_id)[1]["state"] == "running"
    assert call("stop", field.run_id)[1]["asked"] is True
    assert field.gone(supervisor) and field.alive() == []
    assert call("read", "status", field.run_id)[1]["state"] == "stopped"
    assert call("stop", field.run_id)[1] == {
        "run_id": field.run_id,
        "state": "stopped",
        "asked": False,
        "why": "it has ended",
    }


def test_a_signal_to_the_heads_supervisor_ends_the_run_through_its_keeper(field, started):
    job = field.job(field.tree(name="torchrun"), node_rank=0, keeper={"host": "127.0.0.1", "port": 0})
    _, answer = started(job, program=("-c", HEAD))
    field.process("torchrun")
    supervisor = process_from_json(answer["supervisor"])
    processes.signal(supervisor, signal.SIGTERM)
    assert field.gone(supervisor)
    assert paths.read_json(field.directory.keeper.state)["state"] == "stopped"
    assert field.alive() == []


def test_a_head_without_a_keeper_in_the_program_is_an_error_and_runs_nothing(field, started):
    code, answer = started(field.job(["true"], node_rank=0))
    assert code == 1 and "holds no keeper" in answer["error"]
    assert "RuntimeError" in paths.read_text(field.node.supervisor_log)
    assert not os.path.exists(field.node.supervisor)


def test_stay_works_in_the_foreground_until_the_end(field):
    """For srun and mpirun, which end what a job's program leaves behind."""
    program = subprocess.Popen(
        [sys.executable, "-m", "allranks.node", "start", field.run_id, "node-0", "--stay"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    order = field.order(field.job(field.tree(name="torchrun", exit=0)))
    program.stdin.write(json.dumps(order).encode())
    program.stdin.close()
    assert json.loads(program.stdout.readline())["supervisor"]["pid"] == program.pid
    field.say(start=0)
    field.wait_for("swept")
    field.say(bye=True)
    assert program.wait(40) == 0
    program.stdout.close()


def test_every_fault_of_an_order_is_named_at_once(home):
    job = {"run_id": "r2", "node": "node-1", "argv": [], "secrets": ["HF_TOKEN", "PIN"]}
    with pytest.raises(BadInput) as caught:
        read_order("r1", "node-0", {"job": job, "key": "zz", "secrets": {"PIN": "1234"}})
    text = str(caught.value)
    for part in ("is for node node-1 of run r2", "no argv", "names no keeper", "key is missing"):
        assert part in text
    assert "no value came for the secret HF_TOKEN" in text
    assert "the value of the secret PIN is too short" in text and "1234" not in text
    with pytest.raises(BadInput, match="has no job"):
        read_order("r1", "node-0", {"key": "00" * 32})
    with pytest.raises(BadInput, match="not a valid name for a run"):
        read_order("../r1", "node-0", {})


def test_a_run_directory_that_cannot_be_made_is_an_error(field, tmp_path):
    (tmp_path / "allranks-home" / "runs").write_text("a file, not a folder")
    code, answer = call("start", field.run_id, "node-0", stdin=field.order(field.job(["true"])))
    assert code == 1 and "runs" in answer["error"]


def test_a_start_that_was_undone_meanwhile_makes_no_folder_again(field):
    order = {**field.order(field.job(["true"])), "is_put": True}
    with pytest.raises(BadInput, match="was called off"):
        read_order(field.run_id, "node-0", order)
    field.directory.create()
    assert read_order(field.run_id, "node-0", order).job["node"] == "node-0"


def test_a_head_of_a_thousand_nodes_may_open_a_thousand_files(monkeypatch):
    asked = []
    monkeypatch.setattr(open_files.resource, "setrlimit", lambda what, limits: asked.append(limits))
    for soft, hard in ((1024, 524288), (1024, 1200), (1024, -1), (-1, -1), (65536, 65536)):
        monkeypatch.setattr(open_files.resource, "getrlimit", lambda what, pair=(soft, hard): pair)
        open_files.make_room_for(1000)
    assert asked == [(1512, 524288), (1200, 1200), (1512, -1)]
    monkeypatch.setattr(open_files.resource, "getrlimit", lambda what: (1024, 524288))
    transport.Nodes({}, {f"n{n}": Node(f"n{n}", f"n{n}", n) for n in range(1000)})
    assert asked[-1] == (6512, 524288)
