"""The node program, called on one node: the bundle is brought there when it is missing, then a verb runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from allranks.core import AllranksError
from allranks.node import bundle
from allranks.transport import remedies
from allranks.transport.base import Completed, Transport, Unreachable


class ProgramFailed(AllranksError):
    """The node program ran and said no; `answer` is its JSON document where it printed one."""

    def __init__(self, node: str, verb: str, text: str, answer: Mapping[str, Any] | None = None):
        super().__init__(f"{node}: {verb}: {text}")
        self.node, self.verb, self.text, self.answer = node, verb, text, dict(answer or {})


class NodeProgram:
    """`await program.call("facts", stdin={...})` → the JSON document that the verb printed.

    The bundle's digest is compared on the node before each use; a missing or damaged one is sent again,
    once a node and version.
    """

    def __init__(self, transport: Transport, python: str = "python3"):
        self.transport, self.python = transport, python
        self.node = transport.node
        self._sent = asyncio.Lock()

    async def call(
        self,
        verb: str,
        *words: str,
        stdin: Mapping[str, Any] | None = None,
        body: bytes = b"",
        timeout_seconds: float = 60.0,
    ) -> dict[str, Any]:
        """`stdin` goes along as JSON, `body` as it is. Raises Unreachable and ProgramFailed."""
        body = body if stdin is None else json.dumps(stdin).encode()
        argv = self.argv(verb, *words)
        done = await self.transport.run(argv, stdin=body, timeout_seconds=timeout_seconds)
        if done.code == bundle.MISSING_CODE:
            await self._send()
            done = await self.transport.run(argv, stdin=body, timeout_seconds=timeout_seconds)
        return self._answer(verb, done)

    async def follow(self, *words: str) -> AsyncGenerator[dict[str, Any], None]:
        """The `follow` verb's JSON lines, as they come."""
        async for answer in self.lines("follow", *words):
            yield answer

    async def lines(
        self, verb: str, *words: str, stdin: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The JSON lines that a verb prints, as they come. Raises Unreachable and ProgramFailed."""
        await self.call("version")
        body = b"" if stdin is None else json.dumps(stdin).encode()
        async for line in self.transport.stream(self.argv(verb, *words), stdin=body):
            answer = json_object(line)
            if answer is None:
                raise ProgramFailed(self.node, verb, f"printed no JSON: {line[:200]!r}")
            if "error" in answer:
                raise ProgramFailed(self.node, verb, str(answer["error"]), answer)
            yield answer

    def argv(self, verb: str, *words: str) -> list[str]:
        return [self.python, *bundle.command(verb, *words)]

    async def _send(self) -> None:
        async with self._sent:
            done = await self.transport.run(
                [self.python, *bundle.receive_command()], stdin=bundle.build(), timeout_seconds=120.0
            )
        if done.code != 0:
            text = f"allranks cannot be stored there: {said(done)}"
            raise Unreachable(self.node, "no-home", text, remedies.on_node("no-home", self.node))

    def _answer(self, verb: str, done: Completed) -> dict[str, Any]:
        answer = json_object(done.out)
        if answer is None:
            if is_missing(self.python, done):
                text = f"{self.python} is not there: {first_line(done)}"
                raise Unreachable(self.node, "no-python", text, remedies.on_node("no-python", self.node))
            raise ProgramFailed(self.node, verb, f"exit code {done.code}: {first_line(done)}")
        if answer.get("home") == "unsafe":
            raise Unreachable(self.node, "unsafe-home", str(answer.get("error")))
        if done.code != 0:
            raise ProgramFailed(self.node, verb, str(answer.get("error", f"exit code {done.code}")), answer)
        return answer


def is_missing(python: str, done: Completed) -> bool:
    """Whether a node does not have this Python. Some launchers have their own exit code for it. Other lines, such as a
    shell's warning about a locale, may also contain "No such file"."""
    return done.code == 127 or f"{python}: No such file" in first_line(done)


def said(done: Completed) -> str:
    """The `error` of the JSON object that a program printed, else the line that `first_line` finds."""
    return str((json_object(done.out) or {}).get("error") or first_line(done))


def json_object(text: bytes) -> dict[str, Any] | None:
    """The JSON object that a program printed; None if it printed anything else."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def first_line(done: Completed) -> str:
    """The last line that a failed program printed: a traceback has its message there."""
    lines: Sequence[str] = (done.err or done.out).decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else "it printed nothing"
