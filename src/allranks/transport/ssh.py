"""Nodes over SSH, with asyncssh: one connection per node for the whole verb, host keys always verified.

`~/.ssh/config` (User, Port, HostName, IdentityFile, ProxyJump, UserKnownHostsFile, …), the agent and
certificates are asyncssh's business. Ours is what a failure is called: each cause has one word.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import shlex
import socket
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import asyncssh
from asyncssh.config import SSHClientConfig

from allranks.core import Node
from allranks.transport import answer_marks, host_keys
from allranks.transport.base import Completed, Unreachable, collected
from allranks.transport.host_keys import HostKeys, KnownHere, config_paths, local_user, settings_of
from allranks.transport.local import LINE_LIMIT_BYTES, TOO_LONG
from allranks.transport.own_keys import keys_at_hand
from allranks.transport.remedies import Tried

CONNECT_SECONDS = 10.0
"""OpenSSH has no such limit by default; 10 s is the value that cluster guides set (`ConnectTimeout=10`)."""

LOGIN_SECONDS = 20.0
"""Key exchange and authentication: sshd's own LoginGraceTime is 120 s, far too long to wait for a hung banner."""

KEEPALIVE_SECONDS, KEEPALIVE_COUNT = 10, 3
"""A connection is given up after 30 s of silence."""


class Client(asyncssh.SSHClient):
    """Called by asyncssh for a host key that is in no known-hosts file."""

    def __init__(self, known: KnownHere):
        self.known = known
        self.refused: asyncssh.SSHKey | None = None
        self.changed = self.connected = False

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        self.connected = True

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.changed = self.known.knows(host, port)
        if self.known.accept_new and not self.changed:
            self.known.pin(host, port, key)
            return True
        self.refused = key
        return False


class SshTransport:
    """One node over one SSH connection, opened at the first call."""

    def __init__(
        self,
        node: Node,
        user: str | None = None,
        config: Sequence[str] | None = None,
        keys: HostKeys | None = None,
    ):
        self.node, self.described = node.name, node
        self.user = node.user or user
        self.config, self.keys = config, keys or HostKeys()
        self._connection: asyncssh.SSHClientConnection | None = None
        self._opening = asyncio.Lock()
        self._tried: Tried | None = None

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_seconds: float = 60.0
    ) -> Completed:
        connection = await self._connected()
        end = answer_marks.new_end()
        try:
            process = await connection.create_process(
                answer_marks.line(argv, end), encoding=None, request_pty=False
            )
            try:
                feed(process, stdin)
                out, err = await asyncio.wait_for(self._heard(process, end), timeout_seconds)
            finally:
                process.close()
            code = process.returncode
        except asyncio.TimeoutError:
            raise self._failed("no-answer", f"no answer within {timeout_seconds:.0f} s") from None
        except (OSError, asyncssh.Error) as error:
            raise self._lost(error, connection) from None
        if code is None and not answer_marks.ended(end).search(_bytes(out)):
            raise self._failed("connection-lost", answer_marks.ENDED_EARLY)
        return answer_marks.own(
            self.node, Completed(-1 if code is None else code, _bytes(out), _bytes(err)), stdin, end
        )

    def stream(self, argv: Sequence[str], *, stdin: bytes = b"") -> AsyncGenerator[bytes, None]:
        end = answer_marks.new_end()
        return answer_marks.own_lines(self.node, self._lines(argv, stdin, end), stdin, end)

    async def _heard(self, process: asyncssh.SSHClientProcess[bytes], end: str) -> list[bytes]:
        printed = await collected(self.node, [process.stdout, process.stderr], answer_marks.ended(end))
        if process.stdout.at_eof() and process.stderr.at_eof():
            await process.wait_closed()
        return printed

    async def _lines(self, argv: Sequence[str], stdin: bytes, end: str) -> AsyncGenerator[bytes, None]:
        connection = await self._connected()
        try:
            async with connection.create_process(
                answer_marks.line(argv, end),
                encoding=None,
                window=LINE_LIMIT_BYTES,
                stderr=asyncssh.DEVNULL,  # if nobody read it, a program that prints much there would wait
                request_pty=False,
            ) as process:
                feed(process, stdin)
                while line := _bytes(await process.stdout.readline()):
                    if len(line) >= LINE_LIMIT_BYTES and not line.endswith(b"\n"):
                        raise Unreachable(self.node, "too-much", TOO_LONG)
                    yield line
        except (OSError, asyncssh.Error) as error:
            raise self._lost(error, connection) from None

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            with contextlib.suppress(asyncio.TimeoutError, OSError, asyncssh.Error):
                await asyncio.wait_for(self._connection.wait_closed(), 2.0)
            self._connection = None

    # ---- connecting ----

    async def _connected(self) -> asyncssh.SSHClientConnection:
        async with self._opening:
            if self._connection is None or self._connection.is_closed():
                self._connection = await self._connect()
            return self._connection

    async def _connect(self) -> asyncssh.SSHClientConnection:
        paths = config_paths(self.config)
        try:
            settings = settings_of(paths, self.described.address, self.user, self.described.port)
        except (OSError, ValueError) as error:
            raise Unreachable(self.node, "ssh-config", f"the ssh configuration: {error}") from None
        self._tried = tried_by(settings, self.described)
        known = self.keys.of(settings)
        client = Client(known)
        options: dict[str, Any] = {
            "client_factory": lambda: client,
            "known_hosts": known.store,
            "config": paths,
            "connect_timeout": CONNECT_SECONDS,
            "login_timeout": LOGIN_SECONDS,
            "keepalive_interval": KEEPALIVE_SECONDS,
            "keepalive_count_max": KEEPALIVE_COUNT,
        }
        if self.user:
            options["username"] = self.user
        if self.described.port:
            options["port"] = self.described.port
        try:
            try:
                return await asyncssh.connect(self.described.address, **options)
            except FileNotFoundError:
                # An IdentityFile that is not there ends asyncssh; ssh passes it over, and so do we.
                options.update(client_keys=keys_that_exist(settings), ignore_encrypted=True)
                return await asyncssh.connect(self.described.address, **options)
        except (OSError, asyncssh.Error, asyncio.TimeoutError, ValueError) as error:
            keys = await keys_at_hand(settings) if isinstance(error, asyncssh.PermissionDenied) else None
            raise self._refused(error, client, keys) from None

    # ---- names of failures ----

    def _failed(self, cause: str, text: str) -> Unreachable:
        fix = self._tried.remedy(cause) if self._tried is not None else ""
        return Unreachable(self.node, cause, text, fix)

    def _refused(
        self, error: BaseException, client: Client, keys: tuple[str, str] | None = None
    ) -> Unreachable:
        if client.refused is not None:
            return self._bad_key(client)
        cause, text = keys or name_of(error)
        if cause == "timeout" and client.connected:
            cause, text = "login-timeout", "it takes the connection, but the login does not end in time"
        return self._failed(cause, f"{self.described.address}: {text} ({self._tried})")

    def _bad_key(self, client: Client) -> Unreachable:
        assert client.refused is not None
        fingerprint = client.refused.get_fingerprint()
        entry = shlex.quote(host_keys.name_of(self.described.address, self.described.port))
        if client.changed:
            text = (
                f"its host key is not the one in {client.known.own}: it shows {fingerprint}. Either somebody "
                f"intercepts the connection, or the node was reinstalled; if so: ssh-keygen -R {entry}"
            )
            return self._failed("host-key-changed", text)
        text = (
            f"its host key is unknown: {fingerprint}. Compare it on the node with ssh-keygen -lf "
            "/etc/ssh/ssh_host_ed25519_key.pub, then use --accept-new-hosts"
        )
        return self._failed("host-key-unknown", text)

    def _lost(self, error: BaseException, connection: asyncssh.SSHClientConnection) -> Unreachable:
        """`connection` is the one that was used. Another call may have opened a new one since then, which stays."""
        if isinstance(error, asyncssh.ChannelOpenError):
            # The connection stays for the others that use it.
            return self._failed("max-sessions", f"its sshd refuses another session (MaxSessions): {error}")
        if self._connection is connection:
            connection.abort()
            self._connection = None
        return self._failed("connection-lost", f"the connection was lost: {error}")


def feed(process: asyncssh.SSHClientProcess[bytes], stdin: bytes) -> None:
    """Gives a program its input and ends it. One that answered and ended already has not read it: its output and
    exit code say how it went."""
    with contextlib.suppress(BrokenPipeError):
        if stdin:
            process.stdin.write(stdin)
        process.stdin.write_eof()


def tried_by(settings: SSHClientConfig, node: Node) -> Tried:
    """As whom and where ssh logs in by these settings; asyncssh keeps what a file says, and fills in the rest later."""
    user, host, port = (str(settings.get(name) or "") for name in ("User", "Hostname", "Port"))
    return Tried(user or node.user or local_user(), host or node.address, int(port or node.port or 22))


def keys_that_exist(settings: SSHClientConfig) -> list[str]:
    """The IdentityFiles of the ssh configuration for a node that are there."""
    names: Any = settings.get("IdentityFile", ())
    return [str(path) for path in (Path(name).expanduser() for name in names) if path.exists()]


REFUSED = "nothing listens on its SSH port"
ERRNOS = {
    errno.ECONNREFUSED: ("refused", REFUSED),
    errno.ECONNRESET: ("reset", "it reset the connection"),
    errno.EHOSTUNREACH: ("no-route", "no route to it"),
    errno.ENETUNREACH: ("no-route", "its network is unreachable"),
    errno.ETIMEDOUT: ("timeout", "it does not answer"),
}


def name_of(error: BaseException) -> tuple[str, str]:
    """One word for a program and a sentence for people, for anything that connecting can raise."""
    if isinstance(error, asyncssh.PermissionDenied):
        return "permission-denied", f"it accepts none of the keys offered: {error.reason}"
    if isinstance(error, socket.gaierror):
        return "unknown-name", f"its name does not resolve: {error.strerror}"
    if isinstance(error, UnicodeError):
        return "unknown-name", f"its name cannot resolve: {error}"
    if isinstance(error, asyncio.TimeoutError | TimeoutError):
        return "timeout", f"it does not answer within {CONNECT_SECONDS:.0f} s"
    if isinstance(error, OSError) and error.errno in ERRNOS:
        return ERRNOS[error.errno]
    if isinstance(error, asyncssh.ConnectionLost | ConnectionResetError):
        return "reset", "it closed the connection before the login"
    return "ssh-failed", f"{type(error).__name__}: {error}"


def _bytes(data: bytes | str | None) -> bytes:
    return data if isinstance(data, bytes) else (data or "").encode()
