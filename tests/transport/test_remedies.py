"""Each way in which a login fails has a remedy of its own, with the user and the port that were tried."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from allranks.checks.context import View
from allranks.checks.rules.unreadable_node import fix_of
from allranks.core import Node
from allranks.runs.inspection import not_asked
from allranks.transport import Nodes
from allranks.transport.base import Unreachable
from allranks.transport.local import LocalTransport
from allranks.transport.openssh import named
from allranks.transport.program import NodeProgram
from allranks.transport.remedies import REMEDIES, Tried
from tests.transport.ssh_server import Place, Serve, says_yes, served


@pytest.fixture(params=["asyncssh", "openssh"])
def how(request: pytest.FixtureRequest) -> str:
    if request.param == "openssh" and shutil.which("ssh") is None:
        pytest.skip("no ssh here")
    return request.param


Try = Callable[[Place], Awaitable[Unreachable]]


def tried(folder: Path, how: str, do: Try, serve: Serve | None = says_yes) -> tuple[Unreachable, int]:
    async def all_of_it() -> tuple[Unreachable, int]:
        async with served(folder, how, serve) as place:
            return await do(place), place.port

    return asyncio.run(all_of_it())


def test_without_a_key_it_says_so_and_how_to_make_one(tmp_path: Path, how: str) -> None:
    error, port = tried(tmp_path, how, lambda place: place.fails(f"IdentityFile {tmp_path}/absent"))
    assert error.cause == "no-key" and f"tried me@127.0.0.1, port {port}" in error.text
    assert "ssh-keygen" in error.fix and f"ssh-copy-id -p {port} me@127.0.0.1" in error.fix


def test_a_refused_key_is_another_matter(tmp_path: Path, how: str) -> None:
    error, port = tried(
        tmp_path, how, lambda place: place.fails(f"IdentityFile {tmp_path}/other", user="you")
    )
    assert error.cause == "permission-denied" and f"tried you@127.0.0.1, port {port}" in error.text
    assert (
        error.fix.startswith("let you log in with a key of this machine: ssh-copy-id")
        and "IdentityFile" in error.fix
    )


def test_a_key_with_a_passphrase_wants_an_agent(tmp_path: Path, how: str) -> None:
    def lock(place: Place) -> Awaitable[Unreachable]:
        subprocess.run(
            ["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", tmp_path / "mine"], check=True
        )
        return place.fails(f"IdentityFile {tmp_path}/mine")

    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen here")
    error, _ = tried(tmp_path, how, lock)
    assert error.cause == "key-locked" and "ssh-add" in error.fix


def test_an_unknown_host_key_is_compared_first(tmp_path: Path, how: str) -> None:
    def forget(place: Place) -> Awaitable[Unreachable]:
        (tmp_path / "known").write_text("")
        return place.fails(f"IdentityFile {tmp_path}/mine")

    error, _ = tried(tmp_path, how, forget)
    assert error.cause == "host-key-unknown" and "SHA256:" in error.text
    assert "compare the fingerprint" in error.fix and "allranks check FILE --accept-new-hosts" in error.fix


def test_a_wrong_port_is_named(tmp_path: Path, how: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        error, _ = tried(tmp_path, how, lambda place: place.fails(f"IdentityFile {tmp_path}/mine", port=port))
    assert error.cause == "refused" and f"port {port}" in error.text
    assert "start sshd on 127.0.0.1" in error.fix and "`port` of the node" in error.fix


def test_too_few_sessions_are_told_from_a_lost_connection(tmp_path: Path, how: str) -> None:
    error, _ = tried(tmp_path, how, lambda place: place.fails(f"IdentityFile {tmp_path}/mine"), serve=None)
    assert error.cause == "max-sessions" and "set MaxSessions" in error.fix


def test_a_name_that_does_not_resolve(tmp_path: Path, how: str) -> None:
    def nowhere(place: Place) -> Awaitable[Unreachable]:
        transport: Any = place.transport(f"IdentityFile {tmp_path}/mine")
        transport.described = Node("n", "no..such..name", 0)

        async def fails() -> Unreachable:
            with pytest.raises(Unreachable) as caught:
                await transport.run(["true"])
            await transport.close()
            return caught.value

        return fails()

    error, _ = tried(tmp_path, how, nowhere)
    assert error.cause == "unknown-name" and "/etc/hosts" in error.fix


@pytest.mark.parametrize(
    ("says", "cause"),
    [
        (b"ssh: connect to host h port 22: No route to host", "no-route"),
        (b"ssh: connect to host h port 22: Connection timed out", "timeout"),
        (b"debug1: Offering public key: k\nh: Permission denied (publickey).", "permission-denied"),
        (b"debug1: x\nh: Permission denied (publickey,password).", "no-key"),
        (b"debug1: x\nh: Permission denied (publickey,gssapi-with-mic).", "permission-denied"),
    ],
)
def test_what_openssh_says_is_understood(says: bytes, cause: str) -> None:
    assert named(says)[0] == cause


def test_remedies_differ_and_are_filled_in() -> None:
    said = {cause: Tried("me", "gpu1", 2222).remedy(cause) for cause in REMEDIES}
    assert len(set(said.values())) == len(said) and not any("{" in text for text in said.values())
    assert "ssh -p 2222 me@gpu1" in Tried("me", "gpu1", 2222).remedy("another")


def test_a_home_that_cannot_be_written_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("ALLRANKS_HOME", str(blocked / "home"))
    program = NodeProgram(LocalTransport("node-1"))
    nodes = Nodes({"node-1": program}, {"node-1": Node("node-1", "127.0.0.1", 0)})
    (outcome,) = asyncio.run(nodes.each(lambda _node, program: program.call("version")))
    facts = not_asked(outcome)
    assert f"cannot be stored there: {blocked}" in facts.unreadable["node"]
    view = View(nodes.nodes["node-1"], facts)
    assert "give its user the right to write" in fix_of(view, alone=True)
    assert fix_of(view, alone=False).endswith("; or take node-1 out of nodes")
