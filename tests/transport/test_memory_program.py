"""A program that is brought through standard input: what it answers, and what is told if it cannot."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from allranks.transport import memory_program
from allranks.transport.base import Completed, Unreachable
from allranks.transport.local import LocalTransport
from allranks.transport.program import NodeProgram, ProgramFailed

NAMES = ("allranks.core.*", "allranks.node", "allranks.node.witness.*", "allranks.node.processes")
ECHO = "allranks.node.witness.echo.reach"


NO_LOCALE = (
    b"bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8): No such file or directory\n"
)


class Node:
    """Answers what it is told to."""

    node = "node1"

    def __init__(self, code: int, out: bytes = b"", err: bytes = b""):
        self.completed = Completed(code, out, err)

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_seconds: float = 60.0
    ) -> Completed:
        assert b"secret" not in " ".join(argv).encode()
        return self.completed

    async def close(self) -> None:
        return None


def ask(node, python: str = "python3", names: tuple[str, ...] = NAMES) -> dict:
    call = memory_program.call(node, python, ECHO, names, {"to": ["127.0.0.1"]}, 30.0)
    return asyncio.run(call)


@pytest.mark.parametrize(
    ("node", "error", "said"),
    [
        (Node(127, err=b"sh: 1: python3: not found"), Unreachable, "python3 is not there"),
        (Node(2, err=b"slurmstepd: execve(): python3: No such file or directory"), Unreachable, "not there"),
        (Node(137, err=NO_LOCALE + b"Killed\n"), ProgramFailed, "exit code 137: Killed"),
        (Node(1, err=NO_LOCALE), ProgramFailed, "exit code 1"),
        (Node(1, b'{"error": "Python 3.8 or newer is needed, this is 3.6.8"}'), ProgramFailed, "3.6.8"),
        (Node(1, err=b"Traceback\nKeyError: 1"), ProgramFailed, "KeyError"),
        (Node(0, b"[1]"), ProgramFailed, "exit code 0"),
    ],
)
def test_a_node_that_cannot_answer_is_told(node: Node, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ask(node)


def test_the_stored_program_tells_them_apart_too() -> None:
    for node, error in (
        (Node(127, err=b"sh: 1: python3: not found"), Unreachable),
        (Node(137, err=NO_LOCALE + b"Killed\n"), ProgramFailed),
        (Node(0, b"[" * 200_000), ProgramFailed),
    ):
        with pytest.raises(error):
            asyncio.run(NodeProgram(node).call("facts"))  # type: ignore[arg-type]  # a stand-in


@pytest.mark.lengthy
def test_it_runs_from_memory_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ask(LocalTransport("here"), sys.executable) == {"answered": {"127.0.0.1": True}}
    assert not list(tmp_path.iterdir())


@pytest.mark.lengthy
def test_a_module_that_did_not_travel_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProgramFailed, match="allranks"):
        ask(LocalTransport("here"), sys.executable, NAMES[1:])
