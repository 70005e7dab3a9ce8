"""The system's ssh as a transport, with a program in its place: what it is told, and what a master's end does.

The same against real sshds: test_ssh_on_rig.py.
"""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from allranks.core import Node
from allranks.transport.base import Completed, Unreachable
from allranks.transport.openssh import OpensshTransport, Sockets

SSH = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/called"
for last; do :; done
sh -c "$last"
[ -e "$(dirname "$0")/fails" ] && exit 255
exit 0
"""


class Masters(OpensshTransport):
    """Its master is a socket of this process."""

    def __init__(self) -> None:
        super().__init__(Node("node-0", "node-0", 0), Sockets())
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
