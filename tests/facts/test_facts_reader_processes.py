"""Whatever hangs, the reader of facts does not; whatever fails is a reason."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from allranks.node import facts
from allranks.node.facts import _commands, _reader_processes
from allranks.node.facts._reading import Reading, Unreadable
from tests.harness import until

pytestmark = pytest.mark.lengthy


def until_gone(pid: int, seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_a_hanging_task_is_given_up_and_the_others_answer():
    began = time.monotonic()

    def hang(send):
        send({"begin": "mount"})
        send({"fact": "early", "value": 1})
        send({"begin": "late"})
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)

    outcomes = _reader_processes.run(
        {"hang": hang, "fine": lambda send: send({"fact": "x", "value": 2})}, 3.0
    )
    assert time.monotonic() - began < 30
    assert outcomes["fine"].reason is None and outcomes["fine"].messages == [{"fact": "x", "value": 2}]
    assert outcomes["hang"].reason == "did not answer within 3 s"
    assert {"fact": "early", "value": 1} in outcomes["hang"].messages, "what was said before the hang is kept"


def test_a_given_up_task_takes_its_programs_along(tmp_path):
    mark = tmp_path / "pid"

    def run_program(_send):
        child = subprocess.Popen(["sleep", "60"])
        mark.write_text(str(child.pid))
        child.wait()

    _reader_processes.run({"program": run_program}, 3.0)
    assert until_gone(int(mark.read_text()))


def test_what_a_given_up_program_leaves_is_taken_along(tmp_path):
    mark = tmp_path / "pid"

    def ask(send):
        try:
            _commands.run(["sh", "-c", f"sleep 60 & echo $! > {mark}; wait"], 3.0)
        except Unreadable as error:
            send({"fact": "x", "reason": str(error)})

    outcome = _reader_processes.run({"ask": ask}, 20.0)["ask"]
    assert outcome.reason is None and "did not answer" in outcome.messages[0]["reason"]
    assert until_gone(int(mark.read_text()))


def test_a_stopped_task_is_given_up_too():
    began = time.monotonic()
    outcome = _reader_processes.run({"stopped": lambda _send: os.kill(os.getpid(), signal.SIGSTOP)}, 0.4)[
        "stopped"
    ]
    assert time.monotonic() - began < 30
    assert "did not answer" in str(outcome.reason)


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (lambda _send: os.kill(os.getpid(), signal.SIGKILL), "signal 9"),
        (lambda _send: os._exit(7), "code 7"),
        (lambda _send: 1 / 0, "ZeroDivisionError"),
        (lambda send: send({"value": object()}), "TypeError"),
        (lambda send: [send({"fact": "x", "value": "y" * (1 << 20)}) for _ in range(20)], "more than 16 MiB"),
        (lambda _send: _deep(10**6), "RecursionError"),
    ],
    ids=["killed", "exits", "raises", "no-json", "floods", "overflows"],
)
def test_a_failing_task_is_a_reason(task, reason):
    outcome = _reader_processes.run({"bad": task}, 20.0)["bad"]
    assert reason in str(outcome.reason)


def _deep(n):
    return n and _deep(n - 1)


def test_an_abandoned_task_does_not_hold_the_callers_output_open():
    """sshd ends a command's session only when nobody holds its output: a hung mount must not hang the login."""
    code = (
        "import time; from allranks.node.facts import _reader_processes; "
        "_reader_processes._reap = lambda children: None; _reader_processes._end_group = None; "
        "import os; os.killpg = lambda *a: None; "
        "_reader_processes.run({'hang': lambda send: time.sleep(60)}, 0.3); print('done')"
    )
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=55)
    assert done.stdout == "done\n"
    assert time.monotonic() - began < 30


def test_nested_limits_end_before_those_around_them(monkeypatch):
    """On a busy machine the margin may be too short for the inner reason; so it is long here."""
    monkeypatch.setattr(_reader_processes, "_MARGIN_SECONDS", 19.0)

    def outer(send):
        try:
            _reader_processes.call(lambda: time.sleep(60), 30.0)
        except Unreadable as error:
            send({"fact": "inner", "reason": str(error)})

    outcome = _reader_processes.run({"outer": outer}, 20.0)["outer"]
    assert outcome.reason is None and outcome.seconds < 20
    assert "did not answer" in outcome.messages[0]["reason"]


def test_the_margin_of_a_nested_limit(monkeypatch):
    monkeypatch.setattr(_reader_processes, "_deadline", time.monotonic() + 10.0)
    assert _reader_processes.remaining(30.0) <= 9.4


def test_a_program_that_hangs_floods_or_fails_is_a_reason():
    with pytest.raises(Unreadable, match=r"did not answer within 0\.3 s"):
        _commands.run(["sleep", "60"], 0.3)
    with pytest.raises(Unreadable, match="printed more than 8 MiB"):
        _commands.run(["yes"], 60.0)
    with pytest.raises(Unreadable, match="is not installed"):
        _commands.run(["no-such-program-anywhere"])
    with pytest.raises(Unreadable, match="ended with code 3: bad day"):
        _commands.output(["sh", "-c", "echo bad day >&2; exit 3"])


def test_programs_speak_one_language(monkeypatch):
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    monkeypatch.setenv("LC_NUMERIC", "de_DE.UTF-8")
    assert _commands.output(["sh", "-c", "echo $LC_ALL"]) == "C\n"


def test_a_family_that_hangs_names_the_fact_and_keeps_the_rest(home, monkeypatch):
    from allranks.node.facts import leftovers, system

    def hang(request, reading: Reading):
        reading.put("first", 1)
        reading.fact("second", time.sleep, 60)
        reading.put("third", 3)

    monkeypatch.setattr(leftovers, "read", hang)
    monkeypatch.setattr(system, "read", lambda request, reading: reading.fact("x", lambda: 1 / 0))
    request = {"node": "n", "limits": {"leftovers": 3}, "families": ["leftovers", "system"]}
    began = time.monotonic()
    found = facts.collect(request)
    assert time.monotonic() - began < 30
    assert found.values["leftovers"] == {"first": 1}
    assert found.why_unreadable("leftovers.second") == "did not answer within 3 s"
    assert found.why_unreadable("leftovers.third") == "second: did not answer within 3 s"
    assert found.unreadable["system.x"] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"peers": 7, "ports": "x", "paths": {"a": "/tmp"}, "files": None, "dataset": [], "limits": "soon"},
        {"paths": ["\0", "~nobody/x", "a" * 5000, 7], "model": "\0", "dataset": {"dir": "\0"}},
        {"limits": {"system": -1, "network": True, "storage": 1e99}, "families": ["system", "nosuch"]},
        {"python": "/nonexistent/python", "imports": ["os"], "env": {"A": 1}},
    ],
    ids=["empty", "types", "paths", "limits", "python"],
)
def test_no_request_breaks_the_collector(home, request_):
    found = facts.collect({**request_, "limits": request_.get("limits", {})})
    json.dumps(found.as_json())
    assert found.values["system"]["allranks_home"] == str(home)


def test_collecting_leaves_no_process_behind(home):
    before = {pid for pid in os.listdir("/proc") if pid.isdigit()}
    facts.collect({"python": sys.executable, "imports": ["json"], "paths": [str(home)]})
    mine = [
        pid
        for pid in os.listdir("/proc")
        if pid.isdigit() and pid not in before and _parent(pid) == os.getpid()
    ]
    assert not mine


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@pytest.mark.rig
def test_a_frozen_filesystem_costs_its_own_path_alone(home, tmp_path):
    """A real uninterruptible sleep: writing to a frozen ext4 cannot be ended, not even by SIGKILL."""
    image, mount = tmp_path / "image", tmp_path / "mount"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True, timeout=20)
    if subprocess.run(["mount", "-o", "loop", str(image), str(mount)], timeout=20).returncode:
        pytest.fail("a loop device could not be mounted")
    try:
        subprocess.run(["fsfreeze", "-f", str(mount)], check=True, timeout=10)
        began = time.monotonic()
        found = facts.collect(
            {"families": ["storage"], "limits": {"storage": 15}, "paths": [str(mount), str(tmp_path)]}
        )
        assert time.monotonic() - began < 60
        assert found.values["storage"]["paths"][str(tmp_path)]["writable"] is True
        reason = found.unreadable[f"storage.paths.{mount}"]
        assert "did not answer" in reason and "state D" in reason
    finally:
        subprocess.run(["fsfreeze", "-u", str(mount)], timeout=10)
        # The reader that was given up ends once it may write.
        until(lambda: subprocess.run(["umount", str(mount)], timeout=10).returncode == 0, "unmounted", 60)


def test_a_family_without_its_question_gets_no_process(home):
    found = facts.collect({"families": ["imports", "libraries", "ssh", "code", "shared", "extensions"]})
    assert found.values["collection"]["families"] == {} and found.unreadable == {}
    assert found.values["imports"] == {"modules": {}} and found.values["libraries"] == {"variables": None}
    assert found.values["ssh"] == {"reached": {}} and found.values["extensions"]["locks"] == []
