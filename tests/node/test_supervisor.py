"""The supervisor with real processes: what it starts, hears, tells, stops, and leaves."""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import subprocess
import sys
import time
from unittest.mock import Mock

import pytest

from allranks.core import Event
from allranks.node import paths, processes
from allranks.node.descendants import Descendants
from allranks.node.supervisor import Supervisor
from tests.harness.node import QUICK

pytestmark = pytest.mark.lengthy


def forest(**torchrun):
    """Everything that a training script can leave behind, below one torchrun and one rank."""
    children = [
        {"name": "loader", "children": [{"name": "orphan", "deaf": True}], "leave": True},
        {"name": "daemon", "daemon": True},
        {"name": "session", "setsid": True, "children": [{"name": "below-session"}]},
        {"name": "bare", "bare": True},
        {
            "name": "bare-daemon",
            "daemon": True,
            "deaf": True,
            "children": [{"name": "bare-child", "bare": True}],
        },
        {"name": "erased", "erase": True, "setsid": True},
        {"name": "deaf", "deaf": True},
    ]
    rank = {"name": "rank", "rank": 0, "setsid": True, "children": children}
    return {"name": "torchrun", "children": [rank], **torchrun}


ALL = [
    "bare",
    "bare-child",
    "bare-daemon",
    "below-session",
    "daemon",
    "deaf",
    "erased",
    "orphan",
    "rank",
    "session",
]


def test_a_torchrun_that_ends_well_is_told_from_beginning_to_end(field):
    field.supervise(field.tree(name="torchrun", rank=0, exit=0, wait=0.4))
    ended = field.wait_for("torchrun-ended")
    assert ended["data"] == {"code": 0, "failures": [], "attempt": 0}
    field.wait_for("swept")
    field.say(bye=True)
    assert field.supervisor.wait(40) == 0
    kinds = field.kinds()
    assert kinds == ["supervisor", "torchrun", "start", "rank-gone", "torchrun-ended", "swept"]
    assert field.heard() == kinds
    gone = field.journal("rank-gone")[0]
    assert (gone.rank, gone.data["pid"]) == (0, field.process("torchrun").pid)
    me = paths.read_json(field.node.supervisor)
    assert me["pid"] == field.supervisor.pid and me["run_id"] == field.run_id
    assert any("alive" in message for message in field.messages)


def test_stop_ends_everything_below_however_it_hid(field):
    field.supervise(field.tree(**forest()))
    for name in ALL:
        field.process(name)
    assert field.alive(*ALL) == ALL
    field.say(stop=0.3, why="asked")
    swept = field.wait_for("swept")["data"]
    assert field.alive() == []
    assert swept["left"] == [] and swept["why"] == "asked"
    forced = {entry["pid"] for entry in swept["signalled"] if entry["signal"] == "SIGKILL"}
    assert {field.process(name).pid for name in ("deaf", "orphan", "bare-daemon")} <= forced
    assert field.wait_for("torchrun-ended")["data"]["code"] == -signal.SIGTERM
    assert field.supervisor.poll() is None, "it waits for the keeper's last word"


def test_a_foreign_shell_that_inherited_the_run_id_survives_a_stop(field):
    shell = field.stranger(ALLRANKS_RUN_ID=field.run_id, ALLRANKS_NODE="node-0")
    field.supervise(field.tree(name="torchrun"))
    field.process("torchrun")
    field.say(stop=0.1)
    field.wait_for("swept")
    assert field.alive() == [] and shell.poll() is None


def test_sigterm_comes_first_and_sigkill_after_the_grace_time(field):
    field.supervise(field.tree(name="torchrun", deaf=True, children=[{"name": "polite"}]))
    field.process("polite")
    began = time.monotonic()
    field.say(stop=0.6)
    report = field.wait_for("swept")["data"]
    assert time.monotonic() - began >= 0.6
    assert [entry["signal"] for entry in report["signalled"]].count("SIGKILL") == 2
    assert report["seconds"] >= 0.6


def test_what_torchrun_leaves_behind_at_its_end_is_stopped(field):
    field.supervise(field.tree(**forest(wait=0.5, exit=3)))
    assert field.wait_for("torchrun-ended")["data"]["code"] == 3
    swept = field.wait_for("swept")["data"]
    assert field.alive() == [] and swept["why"] == "torchrun ended"


def test_a_killed_rank_is_noticed_at_once_and_its_signal_named(field):
    field.supervise(field.tree(name="torchrun", children=[{"name": "rank", "rank": 0}]))
    field.wait_for("start")
    time.sleep(0.1)
    rank = field.process("rank")
    os.kill(rank.pid, signal.SIGKILL)
    gone = field.wait_for("rank-gone")
    assert (gone["rank"], gone["data"]) == (0, {"pid": rank.pid, "code": -9})


def test_a_rank_that_was_gone_before_we_looked_is_told_too(field):
    dead = field.stranger(["true"])
    dead.wait()
    field.supervise(field.tree(name="torchrun"))
    line = {"at": 1.0, "kind": "start", "rank": 5, "data": {"pid": dead.pid, "start_time": 1}}
    (paths.write_text(field.node.rank_events(5), json.dumps(line) + "\n"))
    gone = field.wait_for("rank-gone")
    assert (gone["rank"], gone["data"]) == (5, {"pid": dead.pid})


def test_the_end_of_the_lease_stops_the_ranks(field):
    field.supervise(field.tree(**forest()))
    for name in ALL:
        field.process(name)
    field.lease = None
    field.say(lease=0.2)
    assert "no word of the keeper" in field.wait_for("lease-lost")["data"]["why"]
    assert field.supervisor.wait(40) == 1
    assert field.alive() == []
    kinds = [kind for kind in field.kinds() if kind != "rank-gone"]
    assert kinds[-4:] == ["lease-lost", "stopping", "torchrun-ended", "swept"]


def test_leases_that_came_while_the_supervisor_was_held_up_count(field):
    field.lease = None
    field.directory.create(node="node-0")
    key = bytes.fromhex(field.order({})["key"])
    one = Supervisor(field.directory, field.job(["true"]), key, {})
    try:
        assert one.link.connect(30)
        one.lease_until = time.monotonic() - 60
        field.until(lambda: field.listener.send("node-0", {"lease": 30}))
        assert select.select([one.link.fileno()], [], [], 60)[0], "the lease is here"
        one._look_at_orders()
        assert one.ending_at is None and one.lease_until > time.monotonic()
        one.lease_until = time.monotonic() - 60
        one._begin_stop = lambda why, seconds: None
        one._look_at_orders()
        assert one.ending_at is not None, "without one it ends"
    finally:
        one.link.close()
        one.journal.close()


@pytest.fixture
def parts(field):
    """A supervisor that was not started, all that it holds played by one mock."""
    field.directory.create(node="node-0")
    one, played = Supervisor(field.directory, field.job(["true"]), bytes(32), {}), Mock()
    one.link.close()
    one.journal.close()
    for name in (
        "sampler",
        "torchrun",
        "log_redactor",
        "secret_store",
        "link",
        "ranks",
        "memory",
        "tree",
        "journal",
    ):
        setattr(one, name, getattr(played, name))
    return one, played


def test_a_supervisor_that_was_away_counts_none_of_it_against_its_keeper(parts):
    """As where the whole machine was paused, keeper and all: neither could say a word, and nobody is to blame."""
    one, played = parts
    played.link.poll.return_value, played.link.why_lost = [], ""
    one._begin_stop = lambda why, seconds: None
    one.turned_at, one.lease_until = time.monotonic() - 60, time.monotonic() - 40
    one._look_at_orders()
    assert one.ending_at is None and 15 < one.lease_until - time.monotonic() <= 20
    one.lease_until = time.monotonic() - 0.1
    one._look_at_orders()
    assert one.ending_at is not None


def test_no_secret_stays_for_a_python_that_does_not_end(parts):
    one, played = parts
    one._members = lambda: [Mock()]
    one._close()
    called = [call[0] for call in played.method_calls]
    assert (
        called.index("log_redactor.turn")
        < called.index("secret_store.destroy")
        < called.index("torchrun.close")
    )


@pytest.mark.parametrize("code, asked", [(-9, 1), (-6, 1), (1, 1), (None, 1), (0, 0), (-15, 0)])
def test_the_kernel_is_asked_of_a_death_also_of_one_read_with_torchruns_end(parts, code, asked):
    one, played = parts
    one._stopping = lambda *_: Mock()
    one.evidence.ask_kernel = ask = Mock()
    death = Event(1.0, "rank-gone", "node-0", 0, {"pid": 7, "code": code})
    one._hear_rank(death)
    assert ask.call_count == asked
    played.ranks.read.return_value, played.ranks.gone.return_value = [], [death]
    played.torchrun.ended.return_value, played.torchrun.failures.return_value = 1, []
    one._look_at_torchrun()
    assert ask.call_count == 2 * asked


def test_a_keeper_that_never_answers_is_waited_for_no_longer_than_the_lease(field):
    field.lease = None
    field.supervise(
        field.tree(name="torchrun"), start=False, keeper={"host": "127.0.0.1", "port": 9}, lease_seconds=0.5
    )
    assert field.supervisor.wait(40) == 1
    assert "could not connect" in field.journal("lease-lost")[0].data["why"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_supervisor_stops_its_ranks(field, number):
    field.supervise(field.tree(**forest()))
    for name in ALL:
        field.process(name)
    field.supervisor.send_signal(number)
    assert field.supervisor.wait(40) == 1
    assert field.alive() == []
    assert number.name in field.wait_for("stopping")["data"]["why"]
    field.wait_for("swept")


def test_a_closed_terminal_is_none_of_its_business(field):
    field.supervise(field.tree(name="torchrun"))
    field.process("torchrun")
    field.supervisor.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert field.supervisor.poll() is None and field.alive() == ["torchrun"]


def test_the_environment_is_the_jobs_and_little_else(field, monkeypatch):
    monkeypatch.setenv("LEAKED_FROM_THE_LOGIN_SHELL", "1")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    show = "import os, json, sys; print(json.dumps([dict(os.environ), os.getcwd(), sys.stdin.read()]))"
    argv = [sys.executable, "-I", "-S", "-c", show]
    job = {"env": {"NCCL_DEBUG": "WARN", "PYTHONPATH": "/mine"}, "secrets": ["HF_TOKEN"], "inside": "/b.zip"}
    field.supervise(argv, {"HF_TOKEN": "hf_abcdefgh", "OTHER": "not asked for"}, **job)
    field.wait_for("torchrun-ended")
    field.say(bye=True)
    field.supervisor.wait(40)
    env, cwd, stdin = json.loads(paths.read_text(field.node.torchrun_log).replace("*" * 11, "masked"))
    assert env.pop("HF_TOKEN") == "masked"
    assert env["PYTHONPATH"] == "/b.zip:/mine" and env["NCCL_DEBUG"] == "WARN"
    assert env["ALLRANKS_RUN_ID"] == field.run_id and env["ALLRANKS_NODE"] == "node-0"
    assert env["ALLRANKS_RANKS_DIR"] == field.node.ranks and env["ALLRANKS_BEAT_SECONDS"] == "1.0"
    assert env["ALLRANKS_LOGS_DIR"] == field.node.logs and env["ALLRANKS_STACKS_DIR"] == field.node.stacks
    beside = os.path.dirname(sys.executable)  # ninja and the like: the environment's own come first
    assert env["PATH"] == f"{beside}:{os.environ['PATH']}" and env["LC_ALL"] == "C.UTF-8"
    assert not {"LEAKED_FROM_THE_LOGIN_SHELL", "OTHER", "ALLRANKS_HOME"} & set(env)
    assert (cwd, stdin) == (field.node.work, "")


def test_torchrun_has_a_session_default_signals_and_none_of_our_descriptors(field):
    # the fourth descriptor is the one that lists the others
    show = """
import os, signal
dispositions = [signal.getsignal(number) == signal.SIG_DFL for number in (1, 15, 17)]
print(os.getsid(0) == os.getpid(), dispositions, len(os.listdir("/proc/self/fd")))
"""
    field.supervise([sys.executable, "-I", "-S", "-c", show])
    field.wait_for("torchrun-ended")
    assert paths.read_text(field.node.torchrun_log) == "True [True, True, True] 4\n"


def test_the_jobs_files_lie_beside_it_and_are_private(field):
    field.supervise(field.tree(name="torchrun", exit=0), files={"deepspeed.json": "{}\n"})
    field.wait_for("torchrun-ended")
    path = os.path.join(field.node.root, "deepspeed.json")
    assert paths.read_text(path) == "{}\n" and stat.S_IMODE(os.stat(path).st_mode) == 0o600


@pytest.mark.parametrize(
    "job, why",
    [
        ({"cwd": "/nowhere/at/all", "cwd_named": True}, "/nowhere/at/all is not on this node"),
        ({"files": {"journal.jsonl": ""}}, "journal.jsonl"),
        ({"argv": ["/nowhere/python", "-m", "x"]}, None),
    ],
)
def test_what_cannot_be_started_ends_with_127_and_why(field, job, why):
    field.supervise(**{"argv": field.tree(name="torchrun"), **job})
    data = field.wait_for("torchrun-ended")["data"]
    assert data["code"] == 127
    text = data["why"] if why else paths.read_text(field.node.torchrun_log)
    assert (why or "could not start /nowhere/python: No such file or directory") in text


def test_a_second_attempt_is_started_once_and_an_old_one_never(field):
    field.supervise(field.tree(name="torchrun", exit=1, wait=0.1))
    field.wait_for("swept")
    field.say(start=0)
    field.say(start=1)
    field.wait_for("swept", count=2)
    field.say(start=1)
    time.sleep(0.4)
    assert [event.data["attempt"] for event in field.journal("torchrun")] == [0, 1]


def test_stacks_and_logs_are_given_when_asked_for(field):
    field.supervise(field.tree(name="torchrun", print="hello \x1b[31mred"))
    field.until(lambda: "red" in paths.read_text(field.node.torchrun_log), "what torchrun prints")
    field.say(stacks=True)
    field.say(logs=1000)
    field.wait_for("torchrun")
    field.until(lambda: any("logs" in message for message in field.messages), "the logs' ends")
    (logs,) = [message["logs"] for message in field.messages if "logs" in message]
    assert logs["torchrun.log"] == "hello \x1b[31mred\n"
    assert os.path.exists(field.node.stacks_request)


def test_garbage_is_only_a_sign_of_life_and_half_a_line_is_nothing_yet(field):
    field.supervise(field.tree(name="torchrun"))
    field.process("torchrun")
    beat = {"at": 2.0, "kind": "beat", "node": "liar", "rank": 99, "data": {"step": 7}}
    with open(field.node.rank_events(0), "ab", buffering=0) as file:
        file.write(b'\xff\n{"at":"no"}\n' + json.dumps(beat).encode()[:20])
        field.until(lambda: field.journal("beat"), "the sign of life")
        time.sleep(0.5)
        said = field.journal("beat")
        assert {(event.node, event.rank, str(event.data)) for event in said} == {("node-0", 0, "{}")}
        file.write(json.dumps(beat).encode()[20:] + b"\n")
        field.until(lambda: len(field.journal("beat")) > len(said), "the whole line")
    heard = field.journal("beat")[-1]
    assert (heard.node, heard.rank, heard.data) == ("node-0", 0, {"step": 7})


def test_a_line_nested_too_deep_to_mask_is_a_sign_of_life_too(field):
    field.supervise(field.tree(name="torchrun"), {"HF_TOKEN": "s3cr3t-canary"}, secrets=["HF_TOKEN"])
    field.process("torchrun")
    deep = b'{"at": 1.0, "kind": "own", "data": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}"
    beat = {"at": 2.0, "kind": "beat", "rank": 0, "data": {"step": 7}}
    with open(field.node.rank_events(0), "ab", buffering=0) as file:
        file.write(deep + b"\n" + json.dumps(beat).encode() + b"\n")
    field.until(lambda: field.journal("beat"), "the line after it")
    assert field.journal("beat")[-1].data == {"step": 7} and not field.journal("swept")


def test_links_and_fifos_in_the_ranks_folder_are_not_read(field):
    field.supervise(field.tree(name="torchrun"))
    field.process("torchrun")
    os.mkfifo(field.node.rank_events(1))
    os.symlink("/proc/self/environ", field.node.rank_events(2))
    line = {"at": 1.0, "kind": "beat", "rank": 0, "data": {}}
    paths.write_text(field.node.rank_events(0), json.dumps(line) + "\n")
    assert field.wait_for("beat")["rank"] == 0


def test_our_own_child_is_neither_reaped_nor_stopped(home, tmp_path):
    """The keeper's verifying child lives in the supervisor's session: its code must reach its parent."""
    script = """
import os, subprocess, sys, time
from allranks.node import processes
from allranks.node.descendants import Descendants
processes.adopt_orphans()
tree = Descendants("node-0", "r1", sys.argv[1])
ours = subprocess.Popen(["sh", "-c", "exit 7"])
theirs = subprocess.Popen(["sh", "-c", "sleep 60 & exit 0"], start_new_session=True)
for child in (ours, theirs):
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
deadline = time.monotonic() + 60
def until(holds):
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
names = lambda: [stat.name for stat in tree.members()]
until(lambda: names() == ["sleep"])  # the shell's child has yet to become it
print(names())
tree.scan()
print(ours.wait(), names())
for stat in tree.members():
    processes.signal(tree.as_process(stat), 9)
def gone():
    tree.scan()
    return processes.descendants(os.getpid()) == []
until(gone)
print(gone())
"""
    argv = [sys.executable, "-c", script, str(tmp_path / "p.jsonl")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, start_new_session=True)
    assert done.stdout.splitlines() == ["['sleep']", "7 ['sleep']", "True"], done.stderr


def test_who_is_gone_is_not_asked_for_again_and_stays_in_the_file(tmp_path, monkeypatch):
    path = str(tmp_path / "p.jsonl")
    tree = Descendants("node-0", "r1", path)
    lasting = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        for _ in range(5):
            child = subprocess.Popen(["sleep", "60"], start_new_session=True)
            tree.scan()
            child.kill()
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            assert tree.living() == [lasting.pid], "a process that has ended is none of the living"
            child.wait()
        assert tree.living() == [lasting.pid]
        asked, read = [], processes.read_stat
        monkeypatch.setattr(processes, "read_stat", lambda pid: (asked.append(pid), read(pid))[1])
        assert tree.living() == [lasting.pid] and set(asked) == {lasting.pid, os.getpid()}
        tree.scan()
        lines = paths.Tail(path).read()
        assert len({line["pid"] for line in lines}) == len(lines) == 7, (
            "each once: this one, its six children"
        )
    finally:
        lasting.kill()
        lasting.wait()
        tree.close()


def test_an_idle_supervisor_costs_next_to_nothing(field):
    field.supervise(field.tree(name="torchrun", rank=0), constants={})
    field.wait_for("start")

    def ticks():
        with open(f"/proc/{field.supervisor.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    time.sleep(0.5)
    shares = []
    while (
        len(shares) < 4 and min(shares, default=1.0) >= 0.05
    ):  # another's work on the machine costs ours caches
        before, began = ticks(), time.monotonic()
        time.sleep(1.5)
        shares.append((ticks() - before) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - began))
    assert min(shares) < 0.05


FAULT = {**QUICK, "LINE_BYTES": "no number"}
"""The ends of the logs cannot be told."""


def test_what_the_keeper_says_is_refused_where_it_makes_no_sense(field):
    field.supervise(field.tree(name="torchrun"))
    field.process("torchrun")
    for word in ({"lease": "for ever"}, {"stop": [], "why": 3}, {"start": 1, "env": {"A": 1}}, {"bye": "x"}):
        field.say(**word)
    field.say(later_version=[1], stop=0.1, why="enough")
    assert field.wait_for("stopping")["data"]["why"] == "enough"
    log = paths.read_text(field.node.supervisor_log)
    assert log.count("what the keeper said is refused") == 4 and "lease: 'for ever' is not" in log


def test_a_fault_of_ours_leaves_no_ranks(field):
    field.supervise(field.tree(**forest()), constants=FAULT)
    for name in ALL:
        field.process(name)
    field.say(logs=9)
    assert field.supervisor.wait(40) == 1
    assert field.alive() == []
    assert "TypeError" in paths.read_text(field.node.supervisor_log)
    assert field.journal()[-1].data["why"] == "the supervisor failed"


def test_torchrun_ends_when_its_supervisor_is_killed(field):
    field.supervise(field.tree(name="torchrun"))
    field.process("torchrun")
    field.supervisor.kill()
    field.until(lambda: not field.alive(), "torchrun is gone")
    assert not processes.still(field.process("torchrun"))


@pytest.fixture
def small_home(field, home):
    """A run directory on a disk of 128 KiB; what is given fills it up, and names the file that does."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(home)], check=True)

    def fill():
        ballast = os.path.join(field.node.work, "checkpoint")
        with open(ballast, "wb", buffering=0) as file, pytest.raises(OSError):
            while True:
                file.write(b"x" * 4096)
        return ballast

    try:
        yield fill
    finally:
        field.close()
        subprocess.run(["umount", "-l", str(home)], check=True)


def test_a_full_disk_ends_neither_the_supervisor_nor_the_run(field, small_home):
    field.supervise(field.tree(name="torchrun", rank=0))
    field.wait_for("start")
    ballast = small_home()
    field.say(save=True)
    field.say(stacks=True)
    process = field.wait_for("process")
    assert process["rank"] == 0, "without a request that the ranks could see they are looked at from outside"
    assert field.supervisor.poll() is None and field.alive() == ["torchrun"]
    for n in range(40):
        field.say(stop=30.0 - n, why="y" * 200)  # each is an event that the journal cannot hold
    field.wait_for("swept")
    assert field.supervisor.poll() is None and field.alive() == []
    os.unlink(ballast)
    field.say(stop=0)
    field.wait_for("swept", count=2)
    field.say(bye=True)
    field.supervisor.wait(40)
    (dropped,) = field.journal("dropped")
    assert dropped.data["events"] > 10 and "No space left" in dropped.data["why"]
    heard = [event["kind"] for event in field.events]
    assert heard.count("stopping") == 41, "what the disk refused the keeper has heard"


def test_a_fault_of_ours_on_a_full_disk_leaves_no_ranks(field, small_home):
    left_behind = {"name": "session", "setsid": True, "deaf": True}
    field.supervise(field.tree(name="torchrun", rank=0, children=[left_behind]), constants=FAULT)
    field.wait_for("start")
    field.process("session")
    small_home()
    field.say(logs=9)
    assert field.supervisor.wait(40) == 1
    assert field.alive() == []
    assert field.wait_for("swept")["data"]["why"] == "the supervisor failed"
