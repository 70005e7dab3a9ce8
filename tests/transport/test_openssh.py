"""The system's ssh as a transport, with a program in its place: what it is told, and what a master's end does.

The same against real sshds: test_ssh_on_rig.py.
"""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from pathlib import Path

import pytest

from allranks.core import Node
from allranks.transport.base import Completed, Unreachable
from allranks.transport.openssh import OpensshTransport, Sockets

SSH = """#!/bin/sh
here=$(dirname "$0")
[ "$1" = -V ] && { cat "$here/version" >&2; echo >> "$here/looked"; exit 0; }
echo "$@" >> "$here/called"
[ -e "$here/refuses" ] && { cat "$here/refuses" >&2; exit 255; }
for last; do :; done
sh -c "$last"
[ -e "$here/fails" ] && exit 255
exit 0
"""


class Masters(OpensshTransport):
    """Its master is a socket of this process."""

    def __init__(self, sockets: Sockets | None = None, name: str = "node-0") -> None:
        super().__init__(Node(name, name, 0), sockets or Sockets())
        self.opened: list[socket.socket] = []

    async def _master(self, batch: str, seconds: float) -> Completed:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.sockets.path(self.node))
        listener.listen(8)
        self.opened.append(listener)
        return Completed(0, b"", b"")

    def end_master(self, leaves_socket: bool) -> None:
        self.opened[-1].close()
        if not leaves_socket:
            os.unlink(self.sockets.path(self.node))


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "ssh"
    program.write_text(SSH)
    program.chmod(0o755)
    (tmp_path / "version").write_text("OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.19\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize("leaves_socket", [False, True], ids=["ended", "killed"])
def test_a_master_that_is_gone_is_opened_anew(ssh: Path, leaves_socket: bool) -> None:
    async def work() -> int:
        transport = Masters()
        try:
            await transport.run(["true"])
            await transport.run(["true"])
            transport.end_master(leaves_socket)
            await transport.run(["true"])
        finally:
            await transport.close()
        return len(transport.opened)

    assert asyncio.run(work()) == 2


def test_a_session_neither_connects_by_itself_nor_trusts_any_key(ssh: Path) -> None:
    transport = Masters()

    async def work() -> None:
        await transport.run(["true"])
        await transport.close()

    asyncio.run(work())
    session = (ssh / "called").read_text().splitlines()[0]
    assert "ProxyCommand=false" in session and "StrictHostKeyChecking=yes" in session


def test_a_session_whose_master_ends_is_lost_and_no_failed_program(ssh: Path) -> None:
    (ssh / "fails").touch()

    async def work() -> Completed:
        transport = Masters()
        try:
            failed = await transport.run(["true"])
            await transport._connected()
            transport.end_master(leaves_socket=False)
            transport._connected = nothing  # The master ends between the look at it and the session.
            await transport.run(["true"])
        finally:
            await transport.close()
        return failed

    async def nothing() -> None:
        return None

    with pytest.raises(Unreachable) as lost:
        asyncio.run(work())
    assert lost.value.cause == "connection-lost"


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.19", ["RemoteCommand=none", "StdinNull=no"]),
        ("OpenSSH_10.0p2, OpenSSL 3.5.0", ["RemoteCommand=none", "StdinNull=no"]),
        ("OpenSSH_8.6p1", ["RemoteCommand=none"]),
        ("OpenSSH_7.4p1, OpenSSL 1.0.2k-fips", []),  # RHEL 7: an option that it does not know is an error
        ("Sun_SSH_2.4", []),
    ],
)
def test_the_user_s_file_neither_replaces_the_command_nor_takes_its_input(
    ssh: Path, version: str, options: list[str]
) -> None:
    (ssh / "version").write_text(version + "\n")

    async def work() -> None:
        sockets = Sockets()
        nodes = [Masters(sockets, name) for name in ("node-0", "node-1")]
        await asyncio.gather(*(node.run(["true"]) for node in nodes))
        for node in nodes:
            await node.close()

    asyncio.run(work())
    for session in (ssh / "called").read_text().splitlines()[:2]:
        assert [
            word for word in session.split() if word.startswith(("RemoteCommand", "StdinNull"))
        ] == options
    assert (ssh / "looked").read_text() == "\n", "once a verb"


async def lines(transport: Masters) -> list[bytes]:
    try:
        return [line async for line in transport.stream(["printf", "one\\ntwo\\n"])]
    finally:
        await transport.close()


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("mux_client_request_session: session request failed: Session open refused by peer", "max-sessions"),
        ("mux_client_hello_exchange: write packet: Broken pipe", "connection-lost"),
        ("", "login-shell"),
    ],
)
def test_a_stream_that_ssh_ends_says_why(ssh: Path, said: str, cause: str) -> None:
    (ssh / "refuses").write_text(said + "\n")
    with pytest.raises(Unreachable) as caught:
        asyncio.run(lines(Masters()))
    assert caught.value.cause == cause


def test_a_stream_that_breaks_off_is_a_lost_connection(ssh: Path) -> None:
    assert asyncio.run(lines(Masters())) == [b"one\n", b"two\n"]
    (ssh / "ssh").write_text(
        (ssh / "ssh").read_text().replace('sh -c "$last"', 'sh -c "$last" | sed "/has ended/Q1"')
    )
    with pytest.raises(Unreachable) as caught:
        asyncio.run(lines(Masters()))
    assert caught.value.cause == "connection-lost"


def test_a_session_that_breaks_off_is_a_lost_connection(ssh: Path) -> None:
    (ssh / "fails").touch()
    (ssh / "ssh").write_text(
        (ssh / "ssh").read_text().replace('sh -c "$last"', 'sh -c "$last" | sed "/has ended/Q"')
    )

    async def work() -> None:
        transport = Masters()
        try:
            await transport.run(["true"])
        finally:
            await transport.close()

    with pytest.raises(Unreachable) as caught:
        asyncio.run(work())
    assert caught.value.cause == "connection-lost"


def test_a_long_temporary_folder_is_not_used_for_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    sockets = Sockets()
    sockets.used = 1
    path = sockets.path("node-0")
    try:
        assert len(path) + 17 <= 107 and Path(path).parent.stat().st_mode & 0o077 == 0
        assert sockets.path("node-1").rpartition("/")[0] == path.rpartition("/")[0]
        assert not list(long.iterdir())
    finally:
        sockets.done()
    assert not Path(path).parent.exists()
