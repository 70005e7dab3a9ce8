"""An SSH server on loopback in this process, and a login to it by either transport."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from allranks.core import Node
from allranks.transport import answer_marks
from allranks.transport.base import Transport, Unreachable
from allranks.transport.openssh import OpensshTransport, Sockets
from allranks.transport.ssh import SshTransport

Serve = Callable[["asyncssh.SSHServerProcess[bytes]"], Awaitable[None]]


async def says_yes(process: asyncssh.SSHServerProcess[bytes]) -> None:
    process.stdout.write(answer_marks.MARK)
    process.exit(0)


@dataclass
class Place:
    """A server on loopback, and what a login to it needs."""

    folder: Path
    port: int
    how: str

    def transport(self, *lines: str, user: str = "me", port: int | None = None) -> Transport:
        common = [
            f"UserKnownHostsFile {self.folder}/known",
            "GlobalKnownHostsFile /dev/null",
            "IdentityAgent none",
        ]
        text = "\n".join(["Host *", *lines, *common, "IdentitiesOnly yes", ""])
        (self.folder / "config").write_text(text)
        node, file = Node("n", "127.0.0.1", 0, port=port or self.port), str(self.folder / "config")
        if self.how == "openssh":
            return OpensshTransport(node, Sockets(), user, config=file)
        return SshTransport(node, user, config=[file])

    async def fails(self, *lines: str, **more: Any) -> Unreachable:
        transport = self.transport(*lines, **more)
        try:
            with pytest.raises(Unreachable) as caught:
                await asyncio.wait_for(transport.run(["true"]), 60)
            return caught.value
        finally:
            await transport.close()


@contextlib.asynccontextmanager
async def served(folder: Path, how: str, serve: Serve | None = says_yes) -> AsyncIterator[Place]:
    for name in ("host", "mine", "other"):
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(folder / name)
        key.write_public_key(folder / f"{name}.pub")
        (folder / name).chmod(0o600)

    more: dict[str, Any] = {"process_factory": serve, "encoding": None}
    keys = {"server_host_keys": [str(folder / "host")], "authorized_client_keys": str(folder / "mine.pub")}
    server = await asyncssh.listen("127.0.0.1", 0, **keys, **more)
    port = server.get_port()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    try:
        yield Place(folder, port, how)
    finally:
        server.close()
        await server.wait_closed()
