"""The transport of this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from allranks.spec import loads
from allranks.transport import base, local, open_nodes
from allranks.transport.base import Completed, Unreachable
from allranks.transport.local import ERROR_BYTES, LocalTransport

EARLY = "import os; os.close(0); print('no such bundle')"


def test_a_program_that_reads_nothing_is_heard() -> None:
    async def lines() -> list[bytes]:
        transport = LocalTransport("node-0")
        return [
            line async for line in transport.stream([sys.executable, "-c", EARLY], stdin=b"x" * 4_000_000)
        ]

    assert asyncio.run(lines()) == [b"no such bundle\n"]


def run(code: str, stdin: bytes = b"") -> Completed:
    transport = LocalTransport("node-0")
    return asyncio.run(transport.run([sys.executable, "-c", code], stdin=stdin))


def test_input_and_both_outputs_of_any_length_flow_at_once() -> None:
    code = "import sys; t = sys.stdin.read(); sys.stderr.write(t[::-1]); sys.stdout.write(t); sys.exit(3)"
    text = b"ab" * 500_000
    done = run(code, text)
    assert (done.code, done.out, done.err) == (3, text, text[::-1])
    assert run(EARLY, b"x" * 4_000_000).out == b"no such bundle\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_program_that_prints_for_ever_is_ended_and_fills_no_memory(
    monkeypatch: pytest.MonkeyPatch, stream: str, tmp_path: Path
) -> None:
    monkeypatch.setattr(base, "MOST_BYTES", 1 << 20)
    code = f"import os, sys\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
    code += f"while True: sys.{stream}.write('x' * 65536)"
    with pytest.raises(Unreachable, match="it printed more than 1 MiB") as caught:
        run(code)
    assert caught.value.cause == "too-much"
    assert not Path("/proc", (tmp_path / "pid").read_text()).exists()


def test_a_process_in_another_session_does_not_hold_a_call_that_timed_out(tmp_path: Path) -> None:
    """It keeps the pipes open, and asyncio waits for their end."""
    script = f"setsid sleep 7200 & echo $! > {tmp_path}/pid; sleep 7200"

    async def ask() -> float:
        begin = time.monotonic()
        with pytest.raises(Unreachable, match="did not end within 1 s"):
            await LocalTransport("node-0").run(["sh", "-c", script], timeout_seconds=1)
        return time.monotonic() - begin

    try:
        assert asyncio.run(asyncio.wait_for(ask(), 60)) < 40
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


FLOOD = "import os\nfor _ in range(200): os.write(2, b'x' * 65536)\n"


def test_a_stream_flows_although_much_comes_on_stderr() -> None:
    told: list[Completed] = []

    async def lines() -> list[bytes]:
        argv = [sys.executable, "-c", FLOOD + "print('after')\nos.write(2, b'end')\nraise SystemExit(3)"]
        return [line async for line in LocalTransport("node-0").stream(argv, told=told.append)]

    assert asyncio.run(asyncio.wait_for(lines(), 60)) == [b"after\n"]
    assert [one.code for one in told] == [3]
    assert told[0].err.endswith(b"xend") and len(told[0].err) == ERROR_BYTES


def test_a_stream_that_floods_stderr_can_be_left() -> None:
    async def work() -> None:
        code = "import os\nprint(1, flush=True)\nwhile True: os.write(2, b'x' * 65536)"
        stream = LocalTransport("node-0").stream([sys.executable, "-c", code])
        assert await stream.__anext__() == b"1\n"
        await stream.aclose()

    asyncio.run(asyncio.wait_for(work(), 60))


def test_a_line_without_end_is_a_fault_of_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "LINE_LIMIT_BYTES", 1 << 16)

    async def lines() -> list[bytes]:
        return [
            line async for line in LocalTransport("node-0").stream(["head", "-c", "1000000", "/dev/zero"])
        ]

    with pytest.raises(Unreachable, match="it printed a line of more than 16 MiB") as caught:
        asyncio.run(lines())
    assert caught.value.cause == "too-much"


def test_the_secrets_of_a_run_are_not_in_the_environment_of_what_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A supervisor that was started here would show them in /proc/PID/environ for as long as it lives."""
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("OTHER", "stays")
    monkeypatch.setenv("USE_KEY", "1")
    monkeypatch.setenv("WANDB_API_KEY", "unnamed-0123456789")
    run_file = loads(
        "nodes: node-[0-1]\nsame_host: true\nlaunch: {with: local}\nsecrets: [HF_TOKEN]\n"
        "train: {command: [train.py]}\n"
    )
    transport = open_nodes(run_file)["node-1"].transport
    told = asyncio.run(transport.run([sys.executable, "-c", "import os; print(dict(os.environ))"])).out
    assert b"hf_secret" not in told and b"HF_TOKEN" not in told and b"stays" in told
    assert b"unnamed" not in told and b"USE_KEY" in told
