"""This machine as a node: the same argv, started by the kernel instead of by an sshd."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from allranks.transport.base import Completed, Unreachable, collected

LINE_LIMIT_BYTES = 16 * 1024 * 1024
"""The longest line that is taken from a node; a longer one is a fault there, not something to store."""

TOO_LONG = f"it printed a line of more than {LINE_LIMIT_BYTES >> 20} MiB"

ERROR_BYTES = 1 << 14
"""The bytes of a stream's stderr that are kept: ssh reports its failure in the last lines."""

END_SECONDS = 5.0
"""For a program that has closed its output, or was killed, to end."""


class LocalTransport:
    """Commands run as the user who runs us, in its own session so that Ctrl-C here is not theirs.

    They do not get the variables for which `hides(name, value)`: a run's secrets come to its ranks in another way, and
    a supervisor would show them in /proc for as long as it lives.
    """

    def __init__(self, node: str, hides: Callable[[str, str], bool] | None = None):
        self.node, self.hides = node, hides

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_seconds: float = 60.0,
        end: re.Pattern[bytes] | None = None,
    ) -> Completed:
        """`end` as for `collected`: a process that still runs after it has printed that is ended."""
        process = await self._start(argv)
        try:
            out, err = await asyncio.wait_for(self._talk(process, stdin, end), timeout_seconds)
        except asyncio.TimeoutError:
            raise Unreachable(
                self.node, "timeout", f"{argv[0]} did not end within {timeout_seconds:.0f} s"
            ) from None
        finally:
            await self._end(process)
        return Completed(process.returncode if process.returncode is not None else -9, out, err)

    async def stream(
        self, argv: Sequence[str], *, stdin: bytes = b"", told: Callable[[Completed], None] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """`told` gets the exit code and the end of stderr after the last line."""
        process = await self._start(argv)
        assert process.stdout is not None and process.stderr is not None
        errors = asyncio.ensure_future(end_of(process.stderr))
        try:
            await self._feed(process, stdin)
            while line := await self._line(process.stdout):
                yield line
            # The process has closed its output and is about to end: a signal now would reap it before asyncio does.
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.gather(process.wait(), asyncio.shield(errors)), END_SECONDS)
            if told is not None and process.returncode is not None:
                told(Completed(process.returncode, b"", errors.result() if errors.done() else b""))
        finally:
            errors.cancel()
            await self._end(process)

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.readline()
        except ValueError:
            raise Unreachable(self.node, "too-much", TOO_LONG) from None

    async def close(self) -> None:
        return None

    async def _talk(
        self, process: asyncio.subprocess.Process, stdin: bytes, end: re.Pattern[bytes] | None
    ) -> list[bytes]:
        assert process.stdout is not None and process.stderr is not None
        feeding = asyncio.ensure_future(self._feed(process, stdin))
        try:
            printed = await collected(self.node, [process.stdout, process.stderr], end)
            if process.stdout.at_eof() and process.stderr.at_eof():
                await process.wait()
        finally:
            feeding.cancel()
        return printed

    async def _feed(self, process: asyncio.subprocess.Process, stdin: bytes) -> None:
        """A program may answer and end before it has read all that it is given: its output says why."""
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.write(stdin)
            await process.stdin.drain()
        process.stdin.close()

    def _environment(self) -> dict[str, str]:
        hides = self.hides
        return {name: value for name, value in os.environ.items() if hides is None or not hides(name, value)}

    async def _start(self, argv: Sequence[str]) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environment(),
                start_new_session=True,
                limit=LINE_LIMIT_BYTES,
            )
        except OSError as error:
            raise Unreachable(self.node, "no-program", f"cannot start {argv[0]}: {error.strerror}") from None

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """Our own direct child, not yet reaped: its pid cannot have been given to another. The process leads its own
        group, so that the processes that it has started end with it: compilers, the workers that tokenize."""
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        # asyncio waits for the end of the pipes too, and a process in another session may hold them.
        transport: Any = process._transport  # type: ignore[attr-defined]
        for number in range(3):
            pipe = transport.get_pipe_transport(number)
            if pipe is not None:
                pipe.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), END_SECONDS)


async def end_of(reader: asyncio.StreamReader) -> bytes:
    """Reads everything, so that the program never waits for room, and keeps the end."""
    kept = b""
    while part := await reader.read(1 << 16):
        kept = (kept + part)[-ERROR_BYTES:]
    return kept
