"""What is read of a stalled rank from outside, and a node's samples."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allranks.core import Event
from allranks.core.payloads import as_json
from allranks.node import kernel_ring, outside_stack, processes, pyspy, samples, stall_evidence
from allranks.node.pyspy import Watched
from allranks.node.stall_evidence import Evidence
from allranks.node.witness import stacks
from tests.harness import until
from tests.harness.cost import cost


@pytest.fixture
def child():
    """A Python that has a child of its own and a connection with unread bytes, and then sleeps."""
    server = socket.create_server(("127.0.0.1", 0))
    code = (
        "import socket, subprocess, sys, time\n"
        f"peer = socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))\n"
        "below = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "def stuck_here():\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
        "stuck_here()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    accepted, _ = server.accept()
    accepted.sendall(b"x" * 100)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    accepted.close()
    server.close()


def collected(looker: Evidence, watched: list, ours: list, last: str | None = "stack") -> list:
    """What it told until `last` was told; without one, until it had done all."""
    looker.request(watched, ours)
    events, deadline = [], time.monotonic() + 60
    while time.monotonic() < deadline and last not in {e.kind for e in events}:
        works = looker._thread is not None and looker._thread.is_alive()
        events += looker.take()
        if not works:
            break
        time.sleep(0.02)
    return events


def until_stopped(pid: int) -> None:
    """A signal is asynchronous: on a busy machine the process runs on for a while after it was sent."""

    def stopped() -> bool:
        seen = processes.read_stat(pid)
        return seen is not None and seen.state == "T"

    until(stopped)


def test_a_stopped_process_is_told_with_its_state_children_sockets_and_stack(child, tmp_path, monkeypatch):
    monkeypatch.setattr(stall_evidence, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(pyspy, "PYSPY_SECONDS", 60.0)
    monkeypatch.setattr(stacks, "GRACE_SECONDS", 60.0)
    os.kill(child.pid, signal.SIGSTOP)
    until_stopped(child.pid)
    me = Watched(3, child.pid, processes.start_time(child.pid) or 0)
    ours = [*processes.descendants(child.pid), processes.read_stat(child.pid)]
    events = collected(Evidence("a", sys.executable, lambda rank: str(tmp_path / f"{rank}")), [me], ours)
    seen = next(e for e in events if e.kind == "process")
    assert (seen.node, seen.rank, seen.data["state"]) == ("a", 3, "T")
    assert len(seen.data["children"]) == 1
    assert any(s["state"] == "ESTABLISHED" and s["unread_bytes"] == 100 for s in seen.data["sockets"])
    stack = next(e for e in events if e.kind == "stack")
    assert "stuck_here" in [frame[2] for frame in stack.data["frames"]], stack
    assert stack.data["by"] in ("py-spy", "reading its memory")


def test_a_process_that_waits_for_storage_is_not_read(child, monkeypatch):
    """Its Python may be on that storage."""
    stat = processes.read_stat(child.pid)
    assert stat is not None
    monkeypatch.setattr(outside_stack.processes, "read_stat", lambda pid: stat._replace(state="D"))
    monkeypatch.setattr(outside_stack, "Reading", None)
    found = outside_stack.by_memory([Watched(3, child.pid, stat.start_time), Watched(4, child.pid, 5)])
    assert {rank: stack.why for rank, stack in found.items()} == {
        3: "the rank did not answer; it waits for storage",
        4: "the process is gone",
    }


def test_why_a_stack_could_not_be_read_is_told(child, monkeypatch):
    monkeypatch.setattr(stacks, "not_here", lambda pid, path: "it runs in a container")
    me = Watched(3, child.pid, processes.start_time(child.pid) or 0)
    assert outside_stack.by_memory([me])[3].why == "the rank did not answer; it runs in a container"


def test_a_process_that_does_not_descend_from_us_is_not_looked_at(child, tmp_path, monkeypatch):
    monkeypatch.setattr(stall_evidence, "ANSWER_SECONDS", 0.05)
    looker = Evidence("a", sys.executable, lambda rank: str(tmp_path / "none"))
    ours = [processes.read_stat(os.getpid())]
    told = collected(looker, [Watched(0, child.pid, 5)], ours, None)
    assert [
        event for event in told if event.kind != "kernel"
    ] == []  # this machine's kernel may have words of its own


def test_a_rank_that_answered_itself_is_left_to_itself(child, tmp_path, monkeypatch):
    monkeypatch.setattr(stall_evidence, "ANSWER_SECONDS", 0.05)
    (tmp_path / "0").write_text("a stack")
    os.utime(tmp_path / "0", (time.time() + 60, time.time() + 60))  # after it was asked for
    me = Watched(0, child.pid, processes.start_time(child.pid) or 0)
    looker = Evidence("a", sys.executable, lambda rank: str(tmp_path / f"{rank}"))
    kinds = {e.kind for e in collected(looker, [me], [processes.read_stat(child.pid)], None)}
    assert "process" in kinds and "stack" not in kinds


def test_that_the_kernel_may_not_be_asked_is_told(monkeypatch):
    looker = Evidence("a", sys.executable, lambda rank: "")
    monkeypatch.setattr(looker.kernel, "recent", lambda seconds: ([], "/dev/kmsg: Operation not permitted"))
    looker._tell_kernel(10.0)
    (told,) = looker.take()
    assert (told.kind, told.data) == ("kernel", {"lines": [], "why": "/dev/kmsg: Operation not permitted"})


def test_of_ranks_that_die_together_the_kernel_is_asked_again_after_the_last(monkeypatch):
    looker, looks, may_end = Evidence("a", sys.executable, lambda rank: ""), [], threading.Event()
    monkeypatch.setattr(looker, "_tell_kernel", lambda seconds: (looks.append(seconds), may_end.wait(60)))
    for rank in range(8):
        looker.heed(Event(1.0, "rank-gone", "a", rank, {"code": 1}))
    may_end.set()
    until(lambda: not looker._asked)
    assert 1 <= len(looks) <= 2
    looker.heed(Event(2.0, "rank-gone", "a", 0, {"code": 1}))
    until(lambda: not looker._asked)
    assert 2 <= len(looks) <= 3, "a later death asks anew"


def test_a_descriptor_that_is_closed_meanwhile_hides_no_connection():
    """The listing's own descriptor is gone when it is looked at."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as mine,
    ):
        local = "{}:{}".format(*mine.getsockname())
        assert local in [row.local for row in stall_evidence.sockets(os.getpid()) or ()]


def test_a_row_of_the_kernels_table_tells_both_ends_and_what_was_sent_again():
    row = "3: 0100007F:A3F2 0200007F:1F90 01 00000400:00000000 01:0000012C 00000005 0 0 8 2 0"
    assert as_json(stall_evidence._socket(row.split(" "))) == {
        "local": "127.0.0.1:41970", "remote": "127.0.0.2:8080", "state": "ESTABLISHED",
        "unsent_bytes": 1024, "unread_bytes": 0, "resent": 5,
    }  # fmt: skip


@given(st.text(max_size=200))
def test_no_record_of_the_kernel_is_too_odd(text):
    assert isinstance(kernel_ring.line_of(text), str)


@given(st.one_of(st.binary(max_size=200), st.recursive(st.integers() | st.text() | st.none(), st.lists).map(
    lambda value: json.dumps(value).encode())))  # fmt: skip
def test_no_answer_of_pyspy_is_too_odd(text):
    assert pyspy.pyspy_frames(text, 7) is None


def test_an_address_of_the_kernels_table_is_read():
    assert stall_evidence._address("0100007F:1F90") == "127.0.0.1:8080"
    assert stall_evidence._address("0000000000000000FFFF00000100007F:0050") == "127.0.0.1:80"
    assert stall_evidence._address("00000000000000000000000001000000:0050").endswith(":0001]:80")


def test_a_sample_tells_memory_disks_cpu_and_ranks(tmp_path):
    sampler = samples.Sampler([str(tmp_path), str(tmp_path / "gone")])
    sampler.ranks = {4: os.getpid()}
    sampler.sample()
    sum(range(10**6))
    time.sleep(0.03)
    found = as_json(sampler.sample())
    assert found["memory_total_bytes"] > found["memory_available_bytes"] > 0
    assert [d["path"] for d in found["disks"]] == [str(tmp_path)]
    assert found["ranks"]["4"]["state"] in "RS" and found["ranks"]["4"]["cpu_seconds"] > 0
    assert 0 <= found["cpu"]["busy"] <= 1 and 0 <= found["cpu"]["iowait"] <= 1


def test_a_frozen_disk_is_named_and_keeps_no_one(tmp_path, monkeypatch):
    real = os.statvfs

    thaw = threading.Event()

    def slow(path):
        if path == "/frozen":
            thaw.wait(60)
        return real(tmp_path)

    monkeypatch.setattr(os, "statvfs", slow)
    disks = samples.Disks([str(tmp_path), "/frozen"])
    found = disks.sample(0.05)
    while found[-1:] == [] or found[-1]["path"] != "/frozen":
        found = disks.sample(0.05)
    assert not thaw.is_set()
    thaw.set()
    assert found[-1]["path"] == "/frozen" and "frozen_seconds" in found[-1]


@pytest.mark.lengthy
def test_an_nvidia_smi_that_does_not_end_keeps_no_sample_and_is_asked_once(tmp_path, monkeypatch):
    thaw, asked = threading.Event(), []

    def hangs(program):
        asked.append(program)
        thaw.wait(20)
        return [{"uuid": "GPU-1"}]

    monkeypatch.setattr(samples, "gpus", hangs)
    monkeypatch.setattr(samples, "GPUS_EVERY_SECONDS", 0.0)
    sampler = samples.Sampler([str(tmp_path)])
    sampler._smi = "/bin/nvidia-smi"
    began = time.monotonic()
    assert as_json(sampler.sample()).keys().isdisjoint(("gpus", "gpus_frozen_seconds"))
    monkeypatch.setattr(samples, "FROZEN_SECONDS", 0.1)
    found = as_json(sampler.sample())
    assert found["gpus_frozen_seconds"] >= 0.1 and "gpus" not in found
    assert asked == ["/bin/nvidia-smi"] and time.monotonic() - began < 15
    thaw.set()
    while "gpus" not in (found := as_json(sampler.sample())):
        assert time.monotonic() - began < 30
    assert found["gpus"] == [{"uuid": "GPU-1"}]


def test_samples_come_at_uneven_times(tmp_path, monkeypatch):
    sampler, waits = samples.Sampler([str(tmp_path)]), []
    wait = types.SimpleNamespace(wait=lambda seconds: waits.append(seconds) or len(waits) == 40)
    monkeypatch.setattr(sampler, "_over", wait)
    monkeypatch.setattr(sampler, "sample", dict)
    sampler._run()
    assert 4.0 <= min(waits) < 4.9 and 5.1 < max(waits) <= 6.0


def test_nvidia_smi_rows_are_read_and_odd_ones_left_out():
    row = "GPU-1, 0, 97, 61, 312.44, 40960, Active, Not Active, Not Active, Not Active, Active"
    found = samples.gpu_rows(f"{row}\nNo devices were found\nGPU-2, 1, [N/A], " + ", ".join(["[N/A]"] * 8))
    assert found[0] == {
        "uuid": "GPU-1",
        "index": 0,
        "utilization": 97,
        "temperature": 61,
        "power_watts": 312.44,
        "memory_bytes": 40 << 30,
        "throttle": ["hw_slowdown", "sw_power_cap"],
    }
    assert [value for name, value in found[1].items() if name not in ("uuid", "index")] == [None] * 4 + [[]]


def test_a_sample_is_cheap(tmp_path):
    sampler = samples.Sampler([str(tmp_path)])
    sampler._smi = None
    sampler.sample()
    assert cost(sampler.sample, enough=0.02) < 0.02, "of one core, every 5 s"
