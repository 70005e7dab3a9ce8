"""A terminal that is closed while a run starts: the start is undone, as after Ctrl-C."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import ROOT, until

PROGRAM = """
import asyncio, fcntl, os, sys, termios
from pathlib import Path
from allranks.cli.run_verbs import interrupts

fcntl.ioctl(0, termios.TIOCSCTTY, 0)
folder = Path(sys.argv[1])

async def start():
    task = asyncio.ensure_future(asyncio.sleep(600))
    with interrupts(task.cancel):
        (folder / "begun").touch()
        try:
            await task
        except asyncio.CancelledError:
            print("a line for a terminal that is gone", flush=True)
            (folder / "undone").touch()

asyncio.run(start())
"""


TWICE = """
import asyncio, os, signal, sys
from allranks.cli.run_verbs import until_stopped

async def start():
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        os.kill(os.getpid(), signal.SIGINT)  # again, while the start is undone
        for _ in range(20):
            await asyncio.sleep(0.01)
        print("undone", flush=True)
        raise

async def main():
    asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), signal.SIGINT)
    await until_stopped(start())

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_a_second_interrupt_does_not_disturb_what_undoes_the_start() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWICE], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"},
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("undone\ninterrupted\n", 0), done.stderr
    assert done.stderr == "the start is being undone; that takes until every node has answered\n"


@pytest.mark.parametrize("is_ignored", [False, True])
def test_a_closed_terminal_ends_a_start_unless_it_is_to_be_ignored(tmp_path: Path, is_ignored: bool) -> None:
    ours, theirs = pty.openpty()
    # A child inherits it, and these tests may run under nohup.
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
    try:
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path)],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"},
        )  # fmt: skip
    finally:
        os.close(theirs)
        signal.signal(signal.SIGHUP, before)
    try:
        until((tmp_path / "begun").exists, seconds=60)
        os.close(ours)
        if is_ignored:
            child.terminate()
        assert child.wait(60) == (1 if is_ignored else 0)
        assert (tmp_path / "undone").exists() != is_ignored
    finally:
        child.kill()
        child.wait()
