"""The transport of this machine."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from allranks.spec import loads
from allranks.transport import base, open_nodes
from allranks.transport.base import Completed, Unreachable
from allranks.transport.local import LocalTransport

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
