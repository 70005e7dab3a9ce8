"""A background process of the login shell that keeps the output open: a command ends all the same when it has ended."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from pathlib import Path

import asyncssh
import pytest

from allranks.transport import answer_marks
from allranks.transport.base import Completed
from tests.transport.ssh_server import Serve, served


@pytest.fixture(params=["asyncssh", "openssh"])
def how(request: pytest.FixtureRequest) -> str:
    if request.param == "openssh" and shutil.which("ssh") is None:
        pytest.skip("no ssh here")
    return request.param


def shell(folder: Path) -> Serve:
    """bash with such a start file, as sshd runs it: the channel is open for as long as somebody has the output."""
    start = folder / "bashrc"
    start.write_text(f"sleep 7200 &\necho $! >> {folder}/sleeps\n")

    async def serve(process: asyncssh.SSHServerProcess[bytes]) -> None:
        words = ["bash", "-c", process.command or ""]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
        child = await asyncio.create_subprocess_exec(
            *words, env={**os.environ, "BASH_ENV": str(start)}, **pipes
        )
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        child.stdin.write(await process.stdin.read())
        child.stdin.close()

        async def pump(source: asyncio.StreamReader, target: asyncssh.SSHWriter[bytes]) -> None:
            while part := await source.read(65536):
                target.write(part)

        await asyncio.gather(pump(child.stdout, process.stdout), pump(child.stderr, process.stderr))
        process.exit(await child.wait())

    return serve


def end_sleeps(folder: Path) -> None:
    for pid in (folder / "sleeps").read_text().split():
        os.kill(int(pid), signal.SIGKILL)


def test_a_command_ends_although_the_output_does_not(tmp_path: Path, how: str) -> None:
    async def ask() -> tuple[Completed, float]:
        async with served(tmp_path, how, shell(tmp_path)) as place:
            transport = place.transport(f"IdentityFile {tmp_path}/mine")
            try:
                await transport.run(["true"])
                begin = time.monotonic()
                words = ["sh", "-c", "cat; echo said >&2; exit 7"]
                return await transport.run(words, stdin=b"in", timeout_seconds=60), time.monotonic() - begin
            finally:
                await transport.close()
                end_sleeps(tmp_path)

    done, seconds = asyncio.run(asyncio.wait_for(ask(), 100))
    assert (done.code, done.out, done.err) == (7, b"in", b"said\n") and seconds < 50


def test_lines_end_although_the_output_does_not(tmp_path: Path, how: str) -> None:
    async def ask() -> list[bytes]:
        async with served(tmp_path, how, shell(tmp_path)) as place:
            transport = place.transport(f"IdentityFile {tmp_path}/mine")
            try:
                return [line async for line in transport.stream(["printf", "one\\ntwo"])]
            finally:
                await transport.close()
                end_sleeps(tmp_path)

    lines = asyncio.run(asyncio.wait_for(ask(), 100))
    assert lines == [b"one\n", b"two"]


def test_what_a_log_holds_ends_no_answer() -> None:
    end, other = answer_marks.new_end(), answer_marks.new_end()
    text = f"{other}0\n{end}".encode()
    done = Completed(-9, answer_marks.MARK + text + b"\n" + f"{end}3\n".encode(), b"")
    assert answer_marks.own("n", done, b"", end) == Completed(3, text + b"\n", b"")
