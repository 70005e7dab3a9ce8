"""Identity: what is signalled is what was meant, or nothing is."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from allranks.core import Process
from allranks.node import processes


@pytest.fixture
def sleeper():
    child = subprocess.Popen(["sleep", "60"])
    yield child
    child.kill()
    child.wait()


def named(argv0):
    """A process whose name in /proc holds what breaks a naive parser."""
    script = f"import ctypes, time; ctypes.CDLL(None).prctl(15, {argv0!r}); print(flush=True); time.sleep(60)"
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", script], stdout=subprocess.PIPE)


def test_identify_tells_what_proc_tells(sleeper):
    process = processes.identify("node-0", "r1", sleeper.pid)
    assert process.pid == sleeper.pid and process.run_id == "r1" and process.node == "node-0"
    assert process.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert processes.still(process)
    assert processes.identify("n", "r").pid == os.getpid()
    with pytest.raises(ProcessLookupError):
        processes.identify("n", "r", 2**22 + 1)


@pytest.mark.parametrize(
    "change", [{"start_time": 1}, {"boot_id": "another boot"}], ids=["recycled", "rebooted"]
)
def test_a_recycled_pid_is_never_signalled(sleeper, change):
    stranger = replace(processes.identify("n", "r", sleeper.pid), **change)
    assert not processes.still(stranger)
    assert not processes.signal(stranger, signal.SIGKILL)
    time.sleep(0.05)
    assert sleeper.poll() is None


def test_a_pid_recycled_between_open_and_read_is_not_signalled(sleeper, monkeypatch):
    """The identity is read after the pidfd was opened: here the pid becomes another process in between."""
    process = processes.identify("n", "r", sleeper.pid)
    opened = processes.open_pidfd

    def recycled(pid):
        handle = opened(pid)
        monkeypatch.setattr(processes, "read_stat", lambda pid: process_stat._replace(start_time=7))
        return handle

    process_stat = processes.read_stat(sleeper.pid)
    monkeypatch.setattr(processes, "open_pidfd", recycled)
    assert not processes.signal(process, signal.SIGKILL)
    time.sleep(0.05)
    assert sleeper.poll() is None


def test_the_right_process_is_signalled(sleeper):
    assert processes.signal(processes.identify("n", "r", sleeper.pid), signal.SIGTERM)
    assert sleeper.wait(40) == -signal.SIGTERM


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_without_pidfd_identity_still_decides(sleeper, monkeypatch, number):
    """A kernel before 5.3 says ENOSYS, a seccomp filter EPERM."""

    def refuse(result):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(processes, "_checked", refuse)
    process = processes.identify("n", "r", sleeper.pid)
    assert processes.open_pidfd(sleeper.pid) is None
    assert not processes.signal(replace(process, start_time=1), signal.SIGKILL)
    assert sleeper.poll() is None
    assert processes.signal(process, signal.SIGKILL)
    assert sleeper.wait(40) == -signal.SIGKILL


@pytest.mark.parametrize("pid", [1, 0, -1])
def test_init_and_groups_are_never_signalled(pid):
    mine = processes.identify("n", "r")
    assert not processes.signal(Process("n", pid, mine.start_time, mine.boot_id, "r"), signal.SIGCONT)


def test_a_zombie_is_not_alive_and_says_how_it_ended():
    child = subprocess.Popen(["sleep", "60"])
    process = processes.identify("n", "r", child.pid)
    os.kill(child.pid, signal.SIGKILL)
    handle = processes.open_pidfd(child.pid)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    stat = processes.read_stat(child.pid)
    assert stat.state == "Z" and processes.exit_code(stat) == -signal.SIGKILL
    assert not processes.still(process) and not processes.signal(process, signal.SIGTERM)
    os.close(handle)
    child.wait()
    assert processes.read_stat(child.pid) is None
    with pytest.raises(ProcessLookupError):
        processes.open_pidfd(child.pid)


def test_exit_codes_count_as_in_subprocess():
    for script, code in (("exit 3", 3), ("kill -15 $$", -15), ("exit 0", 0)):
        child = subprocess.Popen(["sh", "-c", script])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert processes.exit_code(processes.read_stat(child.pid)) == code
        child.wait()
    assert processes.exit_code(processes.read_stat(os.getpid())) is None


@pytest.mark.parametrize("name", [b") R 1 2 3", b"a b (c) d", b"(((", b"\xff\n) Z 1"])
def test_a_hostile_name_does_not_confuse_the_parser(name):
    child = named(name)
    try:
        child.stdout.readline()
        stat = processes.read_stat(child.pid)
        assert (stat.ppid, stat.state in "RSD") == (os.getpid(), True)
        assert stat.start_time == processes.identify("n", "r", child.pid).start_time
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def test_descendants_go_through_every_generation():
    stat = processes.Stat(1, "x", "S", 0, 1, 5, 0)
    table = {pid: stat._replace(pid=pid, ppid=ppid) for pid, ppid in ((2, 1), (3, 2), (4, 3), (5, 9), (9, 5))}
    assert [found.pid for found in processes.descendants(1, table)] == [2, 3, 4]
    assert [found.pid for found in processes.descendants(5, table)] == [9, 5]
    assert processes.descendants(77, table) == []


def test_what_is_stored_says_whether_it_can_be_seen_from_here(sleeper):
    record = processes.record_of(processes.identify("n", "r", sleeper.pid))
    assert processes.lives(record) is True
    assert processes.lives({**record, "host": "another"}) is None
    assert processes.lives({**record, "pid_namespace": "pid:[1]"}) is None
    assert processes.lives({**record, "boot_id": "another"}) is False
    assert processes.lives({**record, "start_time": 1}) is False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "machine_id", lambda: "0123456789abcdef")
        assert processes.lives({**record, "machine": "0123456789abcdef", "boot_id": "another"}) is False
        # a machine that was made from the same image has this one's name, and a home that both share
        assert processes.lives({**record, "machine": "fedcba9876543210", "boot_id": "another"}) is None
        assert (
            processes.lives({**record, "machine": "fedcba9876543210"}) is True
        )  # a container with an id of its own
    assert processes.lives({}) is None and processes.lives({"pid": sleeper.pid}) is None
