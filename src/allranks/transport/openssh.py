"""Nodes over the system's own `ssh`, for what only it can do: Kerberos, second factors, site patches.

One master connection per node (ControlMaster) lives as long as the verb. Every command is a session of it, so that
the user is asked only once. Host keys are always verified: allranks sets `StrictHostKeyChecking` itself and ignores
that setting in the user's file. If a master has ended, it is opened again before the next command: a session never
connects by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from allranks.core import Node
from allranks.core.text import last_line
from allranks.transport import answer_marks
from allranks.transport.base import Completed, Unreachable
from allranks.transport.host_keys import name_of
from allranks.transport.local import LocalTransport
from allranks.transport.own_keys import NO_KEY
from allranks.transport.remedies import Tried
from allranks.transport.ssh import (
    CONNECT_SECONDS,
    KEEPALIVE_COUNT,
    KEEPALIVE_SECONDS,
    LOGIN_SECONDS,
    REFUSED,
)

ASKING_SECONDS = 120.0
"""For a person who is asked for a one-time password: as long as sshd's own LoginGraceTime."""

PERSIST_SECONDS = 300
"""A master ends by itself when it was idle for so long: one of a killed allranks is not left for good."""

NO_FALLBACK = ("-o", "ProxyCommand=false")
"""Without a master `ssh` would connect directly: another login, by the user's file's rules. So that one fails."""

CAUSES = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "host-key-changed",
        "its host key is not the one that is known",
    ),
    (r"host key is known for|Host key verification failed", "host-key-unknown", "its host key is unknown"),
    (r"Could not resolve hostname|Name or service not known", "unknown-name", "its name does not resolve"),
    (r"Connection refused", "refused", REFUSED),
    (r"banner exchange", "login-timeout", "it takes the connection, but the login does not end in time"),
    (r"No route to host|Network is unreachable", "no-route", "no route to it"),
    (r"timed out", "timeout", f"it does not answer within {CONNECT_SECONDS:.0f} s"),
    # It offers a locked key's public half, which may be accepted, and then cannot sign.
    (
        r"(?s)Server accepts key(?!.*Authenticated to).*Permission denied",
        "key-locked",
        "the key that it accepts has a passphrase, and no agent holds it",
    ),
    (
        r"(?s)\A(?!.*Offering public key).*Permission denied \(publickey(,password|,keyboard-interactive)*\)",
        *NO_KEY,
    ),
    (
        r"Permission denied|Too many authentication failures",
        "permission-denied",
        "it accepts none of the logins",
    ),
    (
        r"Connection reset|Connection closed|kex_exchange",
        "reset",
        "it closed the connection before the login",
    ),
)
"""What OpenSSH prints (8 to 10) → one word for a program and a sentence for people; the first that fits."""

OF_THE_LOGIN = ("permission-denied", "no-key", "key-locked")
"""Failures that the user at the terminal may resolve with a password, a passphrase or a second factor."""

MAX_SESSIONS = re.compile(rb"session request failed|Session open refused by peer|open failed")
"""Messages of ssh for a session that sshd refuses while the master connection lives."""

LOST = re.compile(
    rb"^(mux_client|Control socket|ssh: |kex_exchange|Connection .*(closed|reset)|Shared connection)",
    re.MULTILINE,
)


PREFIX = "allranks-ssh-"
LONGEST_FOLDER = 107 - len("/0123456789abcdef.0123456789abcdef")
"""The most bytes of the folder's path: ssh first makes the socket under a name that has 17 letters more."""

SINCE = (("RemoteCommand=none", (7, 6)), ("StdinNull=no", (8, 7)))
"""Options against the user's file, which would keep a session from its command or its input, and the OpenSSH that has
them. An older one fails at an unknown option; `IgnoreUnknown` would replace that of the user's file."""


class Sockets:
    """The folder of the control sockets of one verb: short, since a socket's path has at most 107 bytes."""

    def __init__(self) -> None:
        self._folder: str | None = None
        self.used = 0
        self.asking = asyncio.Lock()
        self.looking = asyncio.Lock()
        self.against: list[str] | None = None

    def path(self, node: str) -> str:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix=PREFIX)
            if len(os.fsencode(self._folder)) > LONGEST_FOLDER:
                Path(self._folder).rmdir()
                self._folder = tempfile.mkdtemp(prefix=PREFIX, dir="/tmp")
        return str(Path(self._folder) / f"{abs(hash(node)):x}")

    def done(self) -> None:
        """One node no longer needs them; the folder goes with the last."""
        self.used -= 1
        if self.used <= 0 and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


class OpensshTransport:
    """One node over one master connection, opened at the first call."""

    def __init__(
        self,
        node: Node,
        sockets: Sockets,
        user: str | None = None,
        config: str | None = None,
        accept_new: bool = False,
    ):
        self.node, self.described, self.sockets = node.name, node, sockets
        self.user, self.config, self.accept_new = node.user or user, config, accept_new
        self._here = LocalTransport(node.name)
        self._opening = asyncio.Lock()
        self._open = self._tried = False

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_seconds: float = 60.0
    ) -> Completed:
        await self._connected()
        end = answer_marks.new_end()
        try:
            done = await self._here.run(
                self._session(argv, end),
                stdin=stdin,
                timeout_seconds=timeout_seconds,
                end=answer_marks.ended(end),
            )
        except Unreachable as error:
            if error.cause != "timeout":
                raise
            raise await self._failed("no-answer", f"no answer within {timeout_seconds:.0f} s") from None
        ended = answer_marks.ended(end).search(done.out) is not None
        await self._raise_if_ssh_failed(done, answer_marks.MARK in done.out, ended)
        return answer_marks.own(self.node, done, stdin, end)

    async def _raise_if_ssh_failed(self, done: Completed, began: bool, ended: bool) -> None:
        """Raises Unreachable if a session ended because of ssh. `began` and `ended` are those of the command."""
        if done.code != 255:
            return
        lives = listens(self.sockets.path(self.node))
        if lives and not began and MAX_SESSIONS.search(done.err):
            text = f"its sshd refuses another session (MaxSessions): {last_words(done.err)}"
            raise await self._failed("max-sessions", text)
        if LOST.search(done.err) or not lives or (began and not ended):
            text = f"the connection was lost: {last_words(done.err)}"
            raise await self._failed("connection-lost", text)

    def stream(self, argv: Sequence[str], *, stdin: bytes = b"") -> AsyncGenerator[bytes, None]:
        end = answer_marks.new_end()
        return answer_marks.own_lines(self.node, self._lines(argv, stdin, end), stdin, end)

    async def _lines(self, argv: Sequence[str], stdin: bytes, end: str) -> AsyncGenerator[bytes, None]:
        await self._connected()
        over: list[Completed] = []
        began = False
        stream = self._here.stream(self._session(argv, end), stdin=stdin, told=over.append)
        async with contextlib.aclosing(stream) as lines:
            async for line in lines:
                began = began or line.endswith(answer_marks.MARK)
                yield line
        # After the mark of the command's end `own_lines` asks for no more lines.
        for done in over:
            await self._raise_if_ssh_failed(done, began, ended=False)

    async def close(self) -> None:
        """Ends the master."""
        if not self._tried:
            return
        self._open = self._tried = False
        with contextlib.suppress(Unreachable):
            await self._here.run(["ssh", *self._options(), "-O", "exit", "--", self.described.address])
        self.sockets.done()

    # ---- connecting ----

    async def _connected(self) -> None:
        async with self._opening:
            if self._open and listens(self.sockets.path(self.node)):
                return
            self._open = False
            if not self._tried:
                self._tried = True
                self.sockets.used += 1
            # A master that was killed leaves its socket, and with it there ssh makes no other.
            Path(self.sockets.path(self.node)).unlink(missing_ok=True)
            await self._connect()
            self._open = True

    async def _connect(self) -> None:
        async with self.sockets.looking:
            if self.sockets.against is None:
                self.sockets.against = await self._against()
        done = await self._master("yes", CONNECT_SECONDS + LOGIN_SECONDS)
        if done.code != 0 and named(done.err)[0] in OF_THE_LOGIN and sys.stdin.isatty():
            # ssh asks at the terminal, for one node after the other.
            async with self.sockets.asking:
                done = await self._master("no", ASKING_SECONDS)
        if done.code != 0:
            raise await self._refused(done.err)

    async def _master(self, batch: str, seconds: float) -> Completed:
        options = [
            f"ControlPersist={PERSIST_SECONDS}",
            f"BatchMode={batch}",
            f"ConnectTimeout={CONNECT_SECONDS:.0f}",
            f"ServerAliveInterval={KEEPALIVE_SECONDS}",
            f"ServerAliveCountMax={KEEPALIVE_COUNT}",
        ]
        words = [word for option in ("ControlMaster=yes", *options) for word in ("-o", option)]
        argv = ["ssh", "-v", *self._options(), *words, "-N", "-f", "--", self.described.address]
        log = Path(self.sockets.path(self.node) + ".log")
        try:
            code = await asyncio.wait_for(started(argv, log), seconds)
        except asyncio.TimeoutError:
            text = "it takes the connection, but the login does not end in time"
            raise await self._failed("login-timeout", f"{self.described.address}: {text}") from None
        except OSError as error:
            raise Unreachable(self.node, "no-program", f"cannot start ssh: {error.strerror}") from None
        return Completed(code, b"", log.read_bytes())

    async def _against(self) -> list[str]:
        """The words of `SINCE` that the installed ssh knows."""
        try:
            done = await self._here.run(["ssh", "-V"], timeout_seconds=CONNECT_SECONDS)
        except Unreachable:
            return []  # the master reports why
        found = re.search(rb"OpenSSH_(\d+)\.(\d+)", done.err)
        version = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
        return [word for option, since in SINCE if version >= since for word in ("-o", option)]

    def _session(self, argv: Sequence[str], end: str) -> list[str]:
        quiet = ["-o", "ControlMaster=no", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", *NO_FALLBACK]
        command = answer_marks.line(argv, end)
        return ["ssh", *self._options(), *quiet, "-T", "--", self.described.address, command]

    def _options(self) -> list[str]:
        known = "accept-new" if self.accept_new else "yes"
        words = ["-o", f"ControlPath={self.sockets.path(self.node)}", "-o", f"StrictHostKeyChecking={known}"]
        words += self.sockets.against or []
        words += ["-F", self.config] if self.config else []
        words += ["-l", self.user] if self.user else []
        words += ["-p", str(self.described.port)] if self.described.port else []
        return words

    async def _failed(self, cause: str, text: str) -> Unreachable:
        tried = await self._as_whom()
        if tried is None:
            return Unreachable(self.node, cause, text)
        return Unreachable(self.node, cause, f"{text} ({tried})", tried.remedy(cause))

    async def _as_whom(self) -> Tried | None:
        """The user, host and port of the login, as ssh itself reports them (`ssh -G`); None if it says none."""
        words = [*self._options(), "-G", "--", self.described.address]
        try:
            done = await self._here.run(["ssh", *words], timeout_seconds=CONNECT_SECONDS)
        except Unreachable:
            return None
        said = dict(
            line.split(" ", 1) for line in done.out.decode("utf-8", "replace").splitlines() if " " in line
        )
        if not {"user", "hostname", "port"} <= set(said) or not said["port"].isdigit():
            return None
        return Tried(said["user"], said["hostname"], int(said["port"]))

    async def _refused(self, err: bytes) -> Unreachable:
        cause, text = named(err)
        found = re.search(rb"Server host key: (\S+) (SHA256:\S+)", err)
        shown = found.group(2).decode("ascii", "replace") if found else "a key that ssh did not show"
        entry = shlex.quote(name_of(self.described.address, self.described.port))
        if cause == "host-key-changed":
            text += (
                f": it shows {shown}. Either somebody intercepts the connection, or the node was reinstalled; if so: "
                f"ssh-keygen -R {entry}"
            )
        elif cause == "host-key-unknown":
            text += (
                f": {shown}. Compare it on the node with ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub, "
                "then use --accept-new-hosts"
            )
        return await self._failed(cause, f"{self.described.address}: {text}")


def listens(path: str) -> bool:
    """Whether a master is behind this control socket. One that is gone leaves no socket, or one that refuses."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.setblocking(False)
        try:
            asked.connect(path)
        except BlockingIOError:
            return True  # Its queue is full: it lives and is busy.
        except OSError:
            return False
    return True


async def started(argv: Sequence[str], log: Path) -> int:
    """Runs ssh until it has gone to the background, or has failed; its exit code.

    Its output goes to a file: the master and its jump hosts stay in the background and would keep a pipe open. With
    `-v` the output contains the host key's fingerprint. ssh keeps our terminal, where it may ask for a second factor.
    """
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=file, stderr=file
        )
    try:
        return await process.wait()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def named(err: bytes) -> tuple[str, str]:
    """One word and a sentence for what ssh printed."""
    text = err.decode("utf-8", "replace")
    for pattern, cause, says in CAUSES:
        if re.search(pattern, text):
            return cause, says
    return "ssh-failed", last_words(err)


def last_words(err: bytes) -> str:
    return last_line(re.sub(r"(?m)^debug.*$", "", err.decode("utf-8", "replace")), "ssh said nothing")
