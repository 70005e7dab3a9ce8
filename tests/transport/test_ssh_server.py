"""The SSH transport against a server in this process: what a node prints is taken up to a limit and no further."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from allranks.core import Node
from allranks.transport import answer_marks, base
from allranks.transport.base import Completed, Unreachable
from allranks.transport.ssh import SshTransport

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
