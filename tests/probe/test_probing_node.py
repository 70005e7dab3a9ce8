"""The node's part of the probe on loopback: what each failure is called, what is counted, what is left."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.node import bundle, reserved_port
from allranks.node.probing import dialer, end, protocol, ranks
from allranks.node.probing import listener as listen

KEY = "11" * 32


@contextlib.contextmanager
def listening(node: str = "b", key: str = KEY, **more: object) -> Iterator[dict]:
    wanted = {"node": node, "key": key, "interface": "lo", "peers": {}, "head": node, "seconds": 30, **more}
    listener = listen.Listener(wanted)
    answer = listener.open()
    over = threading.Event()
    thread = threading.Thread(target=listener.serve, args=(over.is_set,), daemon=True)
    thread.start()
    try:
        yield answer
    finally:
        over.set()
        thread.join(60)
        listener.close()


@contextlib.contextmanager
def answering(said: bytes | None) -> Iterator[int]:
    """Another program's port: it takes one connection and says this, or nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                sock, _ = server.accept()
                if said is not None:
                    sock.sendall(said)
                time.sleep(2)
                sock.close()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


@contextlib.contextmanager
def nobody() -> Iterator[int]:
    """A port that is held, so that nobody else gets it, and on which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def dialled(
    port: int, address: str = "127.0.0.1", node: str = "b", seconds: float = 30.0, key: str = KEY
) -> dict:
    target = {"node": node, "address": address, "port": port, "kind": "data", "clock": True}
    return dialer.dial({"node": "a", "key": key, "seconds": seconds, "targets": [target]})["dials"][0]


def test_a_node_of_the_probe_answers_with_its_name_its_clock_and_what_it_sees() -> None:
    with listening() as there:
        found = dialled(there["port"])
    assert (found["outcome"], found["answered_by"]) == ("ok", "b")
    assert found["own"] == found["saw"] == found["resolved"] == "127.0.0.1"
    assert abs(found["clock"]["offset"]) <= found["clock"]["error"] + 0.01


def test_each_way_to_fail_has_its_word() -> None:
    with nobody() as free:
        assert dialled(free)["outcome"] == "refused"
    for name in ("no-such-host.invalid", "x" * 64 + ".lan", "a..b"):
        assert dialled(1, address=name)["outcome"] == "unknown-name"
    with answering(b"SSH-2.0-OpenSSH_9.2\r\n") as port:
        assert dialled(port)["outcome"] == "stranger"
    with answering(None) as port:
        found = dialled(port, seconds=0.3)
        assert found["outcome"] == "silent" and "says nothing for 0.3 s" in found["text"]
    with listening("c") as there:
        found = dialled(there["port"])
        assert (found["outcome"], found["answered_by"]) == ("wrong-node", "c")
    with listening(key="22" * 32) as there:
        assert dialled(there["port"])["outcome"] == "stranger"


@pytest.mark.lengthy
def test_a_dropped_port_is_told_in_time_and_costs_the_others_nothing() -> None:
    """A listener whose queue is full takes no more connections: its SYNs are dropped."""
    with socket.socket() as full, contextlib.ExitStack() as stack:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        for _ in range(4):
            sock = stack.enter_context(socket.socket())
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", port))
        with listening() as there:
            targets = [
                {"node": "x", "address": "127.0.0.1", "port": port, "kind": "data"},
                {"node": "b", "address": "127.0.0.1", "port": there["port"], "kind": "data"},
            ]
            began = time.monotonic()
            found = dialer.dial({"node": "a", "key": KEY, "seconds": 3.0, "targets": targets})["dials"]
    assert [one["outcome"] for one in found] == ["dropped", "ok"]
    assert time.monotonic() - began < 100, "the kernel itself gives up after 127 s"


def test_both_directions_and_the_round_trip_are_measured() -> None:
    with listening() as there:
        target = {"node": "b", "address": "127.0.0.1", "port": there["port"]}
        found = dialer.measure({"node": "a", "key": KEY, "target": target, "streams": 2, "seconds": 0.1})
    for way in ("sent", "received"):
        assert found[way]["streams"] == 2 and found[way]["bytes_per_second"] > 1e7
    assert 0 < found["latency"]["least"] <= found["latency"]["median"] < 0.1


def test_a_part_that_cannot_be_measured_says_why() -> None:
    with nobody() as free:
        target = {"node": "b", "address": "127.0.0.1", "port": free}
        found = dialer.measure({"node": "a", "key": KEY, "target": target, "seconds": 0.1})
    assert all("refused" in found[part]["reason"] for part in ("latency", "sent", "received"))


def test_an_interface_that_cannot_be_had_is_a_reason() -> None:
    with listening(interface="eth99") as there:
        assert there["port"] is None and "there is no interface eth99" in there["reason"]
    with socket.create_server(("", 0)) as held:
        port = held.getsockname()[1]
        with listening(ports=[port]) as there:
            assert "in use" in there["ports"][str(port)]


def test_with_port_auto_the_listener_takes_the_port_that_a_run_would_take() -> None:
    """Also if a run on this node, which has only begun, holds one: it does not listen yet."""
    held, taken = reserved_port.reserve()
    assert held is not None
    with held, listening(any_port=True) as there:
        ((port, reason),) = there["ports"].items()
        assert reason is None and int(port) != taken
        assert reserved_port.FIRST <= int(port) <= reserved_port.LAST


def test_gloo_s_choice_among_an_interface_s_addresses() -> None:
    one = {"up": True, "addresses": ["fe80::1/64", "fd00::5/64", "10.0.0.5/24", "10.0.0.6/24"]}
    assert listen.address_of({"eth0": one}, "eth0") == ("10.0.0.5", "")
    six = {"up": True, "addresses": ["fe80::1/64", "fd00::5/64"]}
    assert listen.address_of({"eth0": six}, "eth0") == ("fd00::5", "")
    assert listen.address_of({"eth0": {**one, "up": False}}, "eth0") == (None, "eth0 is down")
    assert listen.address_of({}, None)[0] is None


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_whatever_a_stranger_sends_is_no_message(noise: bytes) -> None:
    left, right = socket.socketpair()
    with left, right:
        left.sendall(noise)
        left.shutdown(socket.SHUT_WR)
        with pytest.raises((protocol.Stranger, protocol.Silent)):
            protocol.receive(right, bytes.fromhex(KEY), time.monotonic() + 0.5)


def test_a_listener_takes_no_question_without_the_key_and_sends_nothing_back() -> None:
    with listening() as there, socket.create_connection(("127.0.0.1", there["port"]), 60) as sock:
        forged = json.dumps({"said": '{"way":"question","do":"source"}', "nonce": "0", "mac": "0"}).encode()
        sock.sendall(struct.pack(">I", len(forged)) + forged)
        sock.settimeout(60)
        assert sock.recv(64) == b""


# ---- ranks ----

WAITS = """#!/bin/sh
echo 'allranks-probe {"at": "imported", "torch": "1"}'
sleep 300 &
exec sleep 300
"""


def program(tmp_path: Path, text: str) -> str:
    path = tmp_path / "python"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def wanted_ranks(python: str, **more: object) -> dict:
    return {
        "node": "a",
        "key": KEY,
        "python": python,
        "ranks": [{"rank": 0, "local_rank": 0}],
        "world_size": 1,
        "master": {"host": "127.0.0.1", "port": 1},
        **more,
    }


def run_apart(wanted: dict, seconds: float = 120) -> list[dict]:
    """In a program of its own: the verb takes all below itself for the ranks'."""
    code = (
        "import json, sys; from allranks.node.probing import ranks\n"
        "for line in ranks.run(json.load(sys.stdin), lambda: False): print(json.dumps(line), flush=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.lengthy
def test_ranks_that_wait_are_ended_at_the_limit_with_all_below_them(tmp_path: Path) -> None:
    lines = run_apart(wanted_ranks(program(tmp_path, WAITS), limit_seconds=3))
    assert {"rank": 0, "said": {"at": "imported", "torch": "1"}} in lines
    assert lines[-1]["why"] == "the limit of 3 s" and lines[-1]["left"] == []


def test_a_rank_that_fails_says_its_last_lines(tmp_path: Path) -> None:
    lines = run_apart(wanted_ranks(program(tmp_path, "#!/bin/sh\necho no torch here >&2\nexit 3\n")))
    assert lines[0] == {"rank": 0, "ended": 3, "tail": "no torch here\n"}
    assert run_apart(wanted_ranks("/nowhere/python"))[0]["ended"] == 127


def test_nothing_of_the_caller_s_environment_reaches_a_rank_but_what_a_run_inherits(monkeypatch) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    wanted = wanted_ranks("/opt/env/bin/python", env={"GLOO_SOCKET_IFNAME": "eth0"})
    found = ranks.environment(wanted, {"rank": 3, "local_rank": 1})
    assert "NCCL_DEBUG" not in found
    assert found["PATH"].startswith("/opt/env/bin:")
    assert (found["RANK"], found["LOCAL_RANK"], found["GLOO_SOCKET_IFNAME"]) == ("3", "1", "eth0")


# ---- ending ----


def test_who_has_the_key_ends_a_listener_and_nobody_else() -> None:
    with end.Ending({"key": KEY, "node": "b"}, "listen", lambda: False) as over:
        assert not over()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
            stranger.sendto(b"end", over.name)
        assert not over()
        assert end.end({"key": "22" * 32, "node": "b"})["told"] == []
        assert end.end({"key": KEY, "node": "b"})["told"] == ["listen"]
        assert over() and over()


def test_a_listener_ends_when_its_output_is_closed(home: Path) -> None:
    bundle.install()
    command = [sys.executable, *bundle.command("probe", "listen")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    wanted = {
        "node": "a",
        "key": KEY,
        "interface": "lo",
        "peers": {"a": "127.0.0.1"},
        "head": "a",
        "seconds": 60,
    }
    process.stdin.write(json.dumps(wanted).encode())
    process.stdin.close()
    assert json.loads(process.stdout.readline())["address"] == "127.0.0.1"
    process.stdout.close()
    assert process.wait(40) == 0
