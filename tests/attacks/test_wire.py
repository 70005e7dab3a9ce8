"""The line between keeper and supervisor: whoever stands in between delivers what was sent, in order, or ends it."""

from __future__ import annotations

import socket

from allranks.node.keeper_link import KeeperLink
from allranks.node.supervisor_link import Listener
from allranks.node.wire import TO_KEEPER, TO_SUPERVISOR, LinkError, Proof, Wire
from tests.attacks.seeded import Damage, attacked
from tests.harness import until

KEY = bytes(range(32))
PROOF = Proof(KEY, "node-0", "session", ("aa", "bb"))


def lines_of(messages: list[dict]) -> list[bytes]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = Wire(ours, TO_SUPERVISOR, TO_KEEPER)
        wire.prove(PROOF)
        for message in messages:
            wire.queue(message)
        return [line + b"\n" for line in bytes(wire.waiting).splitlines()]


def heard(data: bytes) -> list[dict]:
    """What a keeper takes of these bytes before it ends the connection."""
    ours, theirs = socket.socketpair()
    found: list[dict] = []
    with ours, theirs:
        ours.setblocking(False)
        wire = Wire(ours, TO_KEEPER, TO_SUPERVISOR)
        wire.prove(PROOF)
        wire.received += data
        try:
            while (line := wire.line()) is not None:
                found.append(line)
        except LinkError:
            pass
    return found


def tampered(damage: Damage, lines: list[bytes]) -> bytes:
    """Lines left out, doubled, swapped, changed or invented."""
    made = list(lines)
    for _ in range(damage.random.randint(1, 3)):
        at, other = (damage.random.randrange(len(made)) for _ in range(2))
        what = damage.random.randrange(5)
        if what == 0 and len(made) > 1:
            del made[at]
        elif what == 1:
            made.insert(at, made[other])
        elif what == 2:
            made[at], made[other] = made[other], made[at]
        elif what == 3:
            made[at] = damage.bytes(made[at])
        else:
            made.insert(at, damage.random.randbytes(40).hex().encode() + b" {}\n")
    return b"".join(made)


@attacked(quick=300, long=20_000)
def test_what_is_tampered_with_is_never_delivered(seed: int, rounds: int) -> None:
    damage = Damage(seed)
    messages = [{"event": {"kind": "beat", "n": n, "text": "x" * (n % 50)}} for n in range(8)]
    lines = lines_of(messages)
    assert heard(b"".join(lines)) == messages
    for _ in range(rounds):
        found = heard(tampered(damage, lines))
        assert found == messages[: len(found)], "only what was sent, in its order"


def attack(damage: Damage, port: int) -> socket.socket:
    """One connection that says something wrong."""
    hello = b'{"hello": "node-0", "session": "ab", "nonce": "00112233445566778899aabbccddeeff"}\n'
    proof = b'{"proof": "' + damage.random.randbytes(32).hex().encode() + b'"}\n'
    said = damage.random.choice(
        [
            damage.random.randbytes(damage.random.randint(1, 400)),
            damage.bytes(hello),
            hello + damage.bytes(proof),
            hello + proof,
            b"[" * 3000 + b"\n",
            b'{"hello": ' + b"9" * 3000 + b"}\n",
            b"x" * 5000,
        ]
    )
    made = socket.create_connection(("127.0.0.1", port))
    try:
        made.sendall(said)
    except OSError:
        pass  # it was dropped at once
    return made


@attacked(quick=80, long=1500)
def test_strangers_at_the_keepers_port_disturb_no_supervisor(seed: int, rounds: int) -> None:
    damage, listener = Damage(seed), Listener(KEY, "127.0.0.1", 0, ["node-0"])
    dial = KeeperLink(KEY, "127.0.0.1", listener.port, "node-0")
    came: list[dict] = []
    strangers: list[socket.socket] = []

    def turn() -> bool:
        dial.poll(0.001)
        messages = listener.poll(0.001)
        came.extend(m.data for m in messages if m.kind == "message")
        assert all(m.node == "node-0" for m in messages)
        return dial.alive

    try:
        until(turn, "the supervisor did not join", 60)
        for number in range(rounds):
            strangers.append(attack(damage, listener.port))
            assert dial.send({"n": number})
            turn()
            while len(strangers) > damage.random.randrange(40):
                strangers.pop(0).close()
        until(lambda: turn() and len(came) >= rounds, lambda: f"{len(came)} of {rounds} came", 60)
        assert [message["n"] for message in came] == list(range(rounds))
    finally:
        for one in strangers:
            one.close()
        dial.close()
        listener.close()
