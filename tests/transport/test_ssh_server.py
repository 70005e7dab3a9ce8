"""The SSH transport against a server in this process: what a node prints is taken up to a limit and no further."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from allranks.core import Node
from allranks.transport import answer_marks, base, ssh
from allranks.transport.base import Completed, Transport, Unreachable
from allranks.transport.ssh import SshTransport
from tests.transport.ssh_server import Place, served

Says = Callable[["asyncssh.SSHServerProcess[bytes]"], Awaitable[None]]


async def asked(folder: Path, says: Says, stdin: bytes = b"") -> Completed:
    """One command on a server that says this to everything."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(folder / "key")
    key.write_public_key(folder / "key.pub")

    async def serve(process: asyncssh.SSHServerProcess[bytes]) -> None:
        try:
            await says(process)
        except (OSError, asyncssh.Error):
            pass  # the client has gone

    more: dict[str, Any] = {"process_factory": serve, "encoding": None}
    server = await asyncssh.listen(
        "127.0.0.1", 0, server_host_keys=[key], authorized_client_keys=str(folder / "key.pub"), **more
    )
    port = server.get_port()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {key.export_public_key().decode()}")
    (folder / "config").write_text(
        f"Host *\n  User me\n  IdentityFile {folder}/key\n  UserKnownHostsFile {folder}/known\n"
        "  GlobalKnownHostsFile /dev/null\n"
    )
    transport = SshTransport(Node("n", "127.0.0.1", 0, port=port), config=[str(folder / "config")])
    try:
        return await asyncio.wait_for(transport.run(["true"], stdin=stdin), 60)
    finally:
        await transport.close()
        server.close()
        await server.wait_closed()


def test_both_outputs_and_the_exit_code_arrive_whole(tmp_path: Path) -> None:
    text = b"x" * 3_000_000

    async def says(process: asyncssh.SSHServerProcess[bytes]) -> None:
        given = await process.stdin.read()
        process.stdout.write(b"noise\n" + answer_marks.MARK + text)
        process.stderr.write(given[::-1])
        process.exit(5)

    done = asyncio.run(asked(tmp_path, says, b"in" * 500_000))
    assert (done.code, done.out == text, done.err == b"ni" * 500_000) == (5, True, True)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_node_that_prints_for_ever_fills_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    monkeypatch.setattr(base, "MOST_BYTES", 4 << 20)
    sent = 0

    async def says(process: asyncssh.SSHServerProcess[bytes]) -> None:
        nonlocal sent
        while True:
            getattr(process, stream).write(b"y" * 65536)
            await getattr(process, stream).drain()
            sent += 65536

    with pytest.raises(Unreachable, match="it printed more than 4 MiB") as caught:
        asyncio.run(asked(tmp_path, says))
    assert caught.value.cause == "too-much" and sent < 40 << 20


def ended_after(
    script: Callable[[Place, Transport], Awaitable[Any]], folder: Path, serve: Says, *lines: str
) -> Any:
    """What this does with a transport to a server that serves so."""

    async def work() -> Any:
        async with served(folder, "asyncssh", serve) as place:
            transport = place.transport(f"IdentityFile {folder}/mine", *lines)
            try:
                return await script(place, transport)
            finally:
                await transport.close()

    return asyncio.run(asyncio.wait_for(work(), 60))


def end_of(process: asyncssh.SSHServerProcess[bytes]) -> bytes:
    """The mark of the end that this command would print, with exit code 0."""
    found = re.search(r"#allranks [0-9a-f]{16}: the command has ended with ", unquoted(process.command or ""))
    assert found is not None
    return f"{found.group()}0\n".encode()


def unquoted(command: str) -> str:
    return re.sub(r"\\\\?0(\d{3})", lambda found: chr(int(found.group(1), 8)), command)


async def heard(transport: Transport) -> list[bytes]:
    return [line async for line in transport.stream(["true"])]


def test_a_terminal_that_the_user_s_file_forces_is_not_asked_for(tmp_path: Path) -> None:
    """A terminal would change the output: newlines, and what is typed is printed."""

    async def says(process: asyncssh.SSHServerProcess[bytes]) -> None:
        process.stdout.write(answer_marks.MARK + str(process.term_type).encode() + b"\n" + end_of(process))
        process.exit(0)

    async def ask(_place: Place, transport: Transport) -> tuple[bytes, list[bytes]]:
        return (await transport.run(["true"])).out, await heard(transport)

    assert ended_after(ask, tmp_path, says, "RequestTTY force") == (b"None\n", [b"None\n"])


def test_a_stream_flows_although_much_comes_on_stderr(tmp_path: Path) -> None:
    async def says(process: asyncssh.SSHServerProcess[bytes]) -> None:
        process.stdout.write(answer_marks.MARK)
        for _ in range(400):
            process.stderr.write(b"x" * 65536)
            await process.stderr.drain()
        process.stdout.write(b"after\n" + end_of(process))
        process.exit(0)

    assert ended_after(lambda _, transport: heard(transport), tmp_path, says) == [b"after\n"]


def test_output_that_breaks_off_is_a_lost_connection(tmp_path: Path) -> None:
    async def says(process: asyncssh.SSHServerProcess[bytes]) -> None:
        process.stdout.write(answer_marks.MARK + b"one\n")
        process.close()  # without an exit code

    async def ask(_place: Place, transport: Transport) -> list[str]:
        causes = []
        for call in (transport.run(["true"]), heard(transport)):
            with pytest.raises(Unreachable) as caught:
                await call
            causes.append(caught.value.cause)
        return causes

    assert ended_after(ask, tmp_path, says) == ["connection-lost", "connection-lost"]


def test_a_late_error_of_an_old_connection_leaves_the_new_one(tmp_path: Path) -> None:
    async def says(process: asyncssh.SSHServerProcess[bytes]) -> None:
        process.stdout.write(answer_marks.MARK + end_of(process))
        process.exit(0)

    async def ask(_place: Place, transport: Transport) -> bool:
        assert isinstance(transport, SshTransport)
        old = await transport._connected()
        old.abort()
        await old.wait_closed()
        new = await transport._connected()
        assert new is not old
        assert transport._lost(asyncssh.ConnectionLost("late"), old).cause == "connection-lost"
        kept = await transport._connected() is new
        transport._lost(asyncssh.ConnectionLost("its own"), new)
        return kept and await transport._connected() is not new

    assert ended_after(ask, tmp_path, says)


def test_a_line_without_end_is_a_fault_of_its_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "LINE_LIMIT_BYTES", 1 << 16)

    async def says(process: asyncssh.SSHServerProcess[bytes]) -> None:
        process.stdout.write(answer_marks.MARK + b"x" * (1 << 18))
        await process.stdin.read()

    async def ask(_place: Place, transport: Transport) -> str:
        with pytest.raises(Unreachable) as caught:
            await heard(transport)
        return caught.value.cause

    assert ended_after(ask, tmp_path, says) == "too-much"
