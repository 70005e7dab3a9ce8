"""The authenticated line: who may join, what a broken or hostile connection can do."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.node import supervisor_link, wire
from allranks.node.keeper_link import KeeperLink
from allranks.node.supervisor_link import Listener
from tests.harness import until

KEY = bytes(range(32))
SECONDS = 60.0
"""How long may be waited for what comes at once where the machine has time for it."""


@pytest.fixture
def listener():
    listener = Listener(KEY, "127.0.0.1")
    yield listener
    listener.close()


class Pump(threading.Thread):
    """Polls a listener in a thread, as the keeper does, and keeps what came."""

    def __init__(self, listener):
        super().__init__(daemon=True)
        self.listener, self.messages, self.stopping = listener, [], False
        self.start()

    def run(self):
        while not self.stopping:
            self.messages += self.listener.poll(0.02)

    def stop(self):
        self.stopping = True
        self.join(5)
        return self.messages

    def wait(self, count, kind="message"):
        def found():
            messages = [m for m in self.messages if m.kind == kind]
            return messages if len(messages) >= count else None

        return until(found, lambda: f"{count} {kind}; got {self.messages}", SECONDS, 0.005)


@pytest.fixture
def pump(listener):
    pump = Pump(listener)
    yield pump
    pump.stop()


@pytest.fixture
def dials():
    made = []

    def dial(port, node="node-0", key=KEY):
        made.append(KeeperLink(key, "127.0.0.1", port, node))
        return made[-1]

    yield dial
    for one in made:
        one.close()


def test_messages_go_both_ways(listener, pump, dials):
    dial = dials(listener.port)
    assert dial.connect(SECONDS) and dial.alive
    assert dial.send({"event": {"kind": "start"}}) and dial.tell({"alive": 1.0})
    assert [m.data for m in pump.wait(2)] == [{"event": {"kind": "start"}}, {"alive": 1.0}]
    assert [m.node for m in pump.wait(1, "joined")] == ["node-0"]
    pump.stop()
    assert listener.send("node-0", {"lease": 30})
    assert dial.poll(SECONDS) == [{"lease": 30}]
    assert not listener.send("node-9", {"lease": 30})


def test_a_wrong_key_joins_nobody_and_stops_nobody(listener, pump, dials):
    wrong, right = dials(listener.port, "node-1", b"x" * 32), dials(listener.port)
    deadline = time.monotonic() + SECONDS
    while "does not have the run's key" not in wrong.why_lost and time.monotonic() < deadline:
        assert not wrong.connect(0.1)
    assert "does not have the run's key" in wrong.why_lost
    assert right.connect(SECONDS)
    assert [m.node for m in pump.stop()] == ["node-0"]


def test_a_name_that_is_none_of_the_runs_is_refused(dials):
    listener = Listener(KEY, "127.0.0.1", nodes=["node-0"])
    pump = Pump(listener)
    try:
        assert not dials(listener.port, "node-7").connect(0.3)
        assert dials(listener.port, "node-0").connect(SECONDS)
    finally:
        pump.stop()
        listener.close()


@pytest.mark.parametrize(
    "junk",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0" * 9000,
        b"{}\n",
        b"[]\n",
        b"null\n",
        b"\n",
        b'{"hello":1,"nonce":2}\n',
        b"[" * 4000 + b"\n",
    ],
)
def test_junk_before_the_proof_is_dropped_at_once(listener, pump, junk):
    with socket.create_connection(("127.0.0.1", listener.port)) as sock:
        sock.sendall(junk)
        sock.settimeout(SECONDS)
        try:
            assert sock.recv(100) == b""
        except ConnectionResetError:
            pass
    assert pump.stop() == []


def test_half_a_surrogate_pair_costs_its_sender_the_connection_alone(listener, pump, dials):
    with socket.create_connection(("127.0.0.1", listener.port)) as sock:
        sock.sendall(b'{"hello":"node-0","session":"\\ud800","nonce":"a"}\n')
        sock.settimeout(SECONDS)
        assert json.loads(sock.recv(4096)).keys() == {"nonce", "proof"}
        sock.sendall(b'{"proof":"\\udfff"}\n')
        assert sock.recv(100) == b""
    assert dials(listener.port).connect(SECONDS) and pump.is_alive()


def test_a_false_keeper_may_say_anything(dials):
    with socket.create_server(("127.0.0.1", 0)) as server:
        dial = dials(server.getsockname()[1])
        dial.poll(0.05)
        peer, _ = server.accept()
        with peer:
            peer.sendall(b'{"nonce":"\\ud800","proof":"\\udfff"}\n')
            deadline = time.monotonic() + SECONDS
            while "does not have the run's key" not in dial.why_lost and time.monotonic() < deadline:
                dial.poll(0.05)
    assert "does not have the run's key" in dial.why_lost


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=200), max_size=4))
def test_no_bytes_join_nor_break_the_listener(blocks):
    listener = Listener(KEY, "127.0.0.1")
    try:
        with socket.create_connection(("127.0.0.1", listener.port)) as sock:
            for block in blocks:
                sock.sendall(block)
                assert listener.poll(0) == []
    except (BrokenPipeError, ConnectionResetError):
        pass  # it was refused in the middle
    finally:
        listener.close()


def test_a_silent_peer_is_dropped_and_blocks_nobody(listener, pump, dials, monkeypatch):
    monkeypatch.setattr(wire, "HANDSHAKE_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", listener.port)) as silent:
        silent.sendall(b'{"hel')
        assert dials(listener.port).connect(SECONDS)
        silent.settimeout(SECONDS)
        assert silent.recv(1) == b""


def test_many_unproved_peers_do_not_keep_the_others_out(listener, pump, dials):
    crowd = [
        socket.create_connection(("127.0.0.1", listener.port))
        for _ in range(supervisor_link.UNPROVED_PEERS + 20)
    ]
    try:
        assert dials(listener.port).connect(SECONDS)
    finally:
        for sock in crowd:
            sock.close()


class Middle(threading.Thread):
    """A proxy on the way that may change, repeat or hold back the lines to the keeper."""

    def __init__(self, port, change=lambda number, line: [line]):
        super().__init__(daemon=True)
        self.port_behind, self.change = port, change
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.pairs = []
        self.start()

    def run(self):
        while True:
            try:
                front, _ = self.socket.accept()
            except OSError:
                return
            back = socket.create_connection(("127.0.0.1", self.port_behind))
            self.pairs.append((front, back))
            threading.Thread(target=self.copy, args=(back, front), daemon=True).start()
            threading.Thread(target=self.copy, args=(front, back, self.change), daemon=True).start()

    def copy(self, source, target, change=lambda number, line: [line]):
        try:
            for number, line in enumerate(source.makefile("rb")):
                for out in change(number, line):
                    target.sendall(out)
        except OSError:
            pass
        self.cut(source, target)

    def cut(self, *sockets):
        for sock in sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut_all(self):
        for pair in self.pairs:
            self.cut(*pair)

    def close(self):
        self.socket.close()
        self.cut_all()
        for pair in self.pairs:
            for sock in pair:
                sock.close()


def flip(line):
    return line.replace(b'"loss":1', b'"loss":2')


@pytest.mark.parametrize(
    "change",
    [
        lambda n, line: [flip(line)],
        lambda n, line: [line, line] if n >= 2 else [line],
        lambda n, line: [] if n == 2 else [line],
        lambda n, line: [b"0" * 64 + line[64:]] if n >= 2 else [line],
        lambda n, line: [line.split(b" ", 1)[1]] if n >= 2 else [line],
    ],
    ids=["changed", "replayed", "left-out", "forged", "unsigned"],
)
def test_tampered_lines_end_the_connection_and_are_never_delivered(listener, pump, dials, change):
    middle = Middle(listener.port, change)
    try:
        dial = dials(middle.port)
        assert dial.connect(SECONDS)
        dial.send({"loss": 1, "n": 0})
        dial.send({"loss": 1, "n": 1})
        lost = pump.wait(1, "lost")[0]
        assert "changed, repeated or left out" in lost.data["why"]
        delivered = [m.data["n"] for m in pump.stop() if m.kind == "message"]
        assert delivered in ([], [0])
        assert all(m.data["loss"] == 1 for m in pump.messages if m.kind == "message")
    finally:
        middle.close()


def test_a_recorded_connection_cannot_be_played_again(listener, pump, dials):
    recorded = []
    middle = Middle(listener.port, lambda n, line: [recorded.append(line) or line])
    try:
        dial = dials(middle.port)
        assert dial.connect(SECONDS)
        dial.send({"stop": 1})
        pump.wait(1)
        with socket.create_connection(("127.0.0.1", listener.port)) as sock:
            sock.sendall(b"".join(recorded))
            time.sleep(0.1)
        pump.stop()
        assert [m.kind for m in pump.messages] == ["joined", "message"]
    finally:
        middle.close()


def test_nothing_is_lost_or_doubled_over_broken_connections(listener, pump, dials):
    middle = Middle(listener.port)
    try:
        dial = dials(middle.port)
        assert dial.connect(SECONDS)
        sent = 0
        for _ in range(4):
            for _ in range(60):
                assert dial.send({"n": sent})
                sent += 1
            dial.poll(0.01)
            middle.cut_all()
            dial.poll(0.02)
        deadline = time.monotonic() + SECONDS
        while not (dial.connect(1) and dial.drain(1)) and time.monotonic() < deadline:
            pass  # the last cut may be noticed only while it drains
        assert dial.drain(0)
        assert [m.data["n"] for m in pump.stop() if m.kind == "message"] == list(range(sent))
        assert sum(m.kind == "lost" for m in pump.messages) >= 1
    finally:
        middle.close()


def test_what_is_said_before_the_keeper_listens_arrives(dials):
    taken = socket.socket()  # nobody listens there, and nobody else gets it meanwhile
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    taken.bind(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    dial = dials(port)
    dial.send({"n": 1})
    assert not dial.connect(0.15) and "could not connect" in dial.why_lost
    listener = Listener(KEY, "127.0.0.1", port)
    taken.close()
    pump = Pump(listener)
    try:
        assert dial.connect(SECONDS)
        assert [m.data for m in pump.wait(1)] == [{"n": 1}]
    finally:
        pump.stop()
        listener.close()


def test_a_new_supervisor_of_the_same_node_is_heard_from_its_first_message(listener, pump, dials):
    first = dials(listener.port)
    assert first.connect(SECONDS)
    for n in range(5):
        first.send({"n": n})
    assert first.drain(SECONDS)
    second = dials(listener.port)
    assert second.connect(SECONDS)
    second.send({"n": "again"})
    assert pump.wait(6)[-1].data == {"n": "again"}


def test_a_closed_dial_is_lost(listener, pump):
    dial = KeeperLink(KEY, "127.0.0.1", listener.port, "node-0")
    assert dial.connect(SECONDS)
    dial.close()
    assert pump.wait(1, "lost")[0].data == {"why": "the peer closed the connection"}


def test_a_message_too_long_for_a_line_is_refused_and_breaks_nothing(listener, pump, dials):
    dial = dials(listener.port)
    assert dial.connect(SECONDS)
    assert not dial.send({"x": "y" * wire.LINE_BYTES}) and dial.dropped == 1
    assert dial.send({"x": "y" * (wire.LINE_BYTES - 300)})
    assert len(pump.wait(1)[0].data["x"]) == wire.LINE_BYTES - 300


def test_what_waits_for_an_absent_keeper_is_bounded(dials):
    dial = dials(9)
    big = {"x": "y" * 500_000}
    assert [dial.send(big) for _ in range(40)].count(True) == wire.BUFFER_BYTES // 500_000
    assert dial.dropped == 40 - wire.BUFFER_BYTES // 500_000


def test_a_keeper_that_does_not_read_is_no_trouble_for_send(listener, dials):
    dial = dials(listener.port)
    pump = Pump(listener)
    assert dial.connect(SECONDS)
    pump.stop()
    for _ in range(1000):
        dial.send({"x": "y" * 4000})
    assert dial.alive
    pump = Pump(listener)
    assert dial.drain(SECONDS)
    assert len(pump.wait(1000)) == 1000
    pump.stop()


def test_a_supervisor_that_does_not_read_is_dropped(listener, dials, monkeypatch):
    monkeypatch.setattr(wire, "BUFFER_BYTES", 1 << 20)
    dial = dials(listener.port)
    pump = Pump(listener)
    assert dial.connect(SECONDS)
    pump.stop()
    for _ in range(400):
        if not listener.send("node-0", {"x": "y" * 100_000}):
            break
    lost = [m for m in listener.poll(0) if m.kind == "lost"]
    assert "unread" in lost[0].data["why"]


def test_the_proof_binds_name_session_and_both_nonces():
    proof = wire.Proof(KEY, "a", "s", ("1", "2"))
    others = [
        wire.Proof(KEY, "ab"[:1], "s", ("2", "1")),
        wire.Proof(KEY, "b", "s", ("1", "2")),
        wire.Proof(KEY, "a", "t", ("1", "2")),
        wire.Proof(b"k", "a", "s", ("1", "2")),
        wire.Proof(KEY, "as", "", ("1", "2")),
    ]
    assert len({p.of("keeper") for p in [proof, *others]}) == 6
    assert proof.of("keeper") != proof.of("supervisor")
    assert not proof.holds("keeper", None) and not proof.holds("keeper", "é")
    json.dumps(proof.of("keeper"))
