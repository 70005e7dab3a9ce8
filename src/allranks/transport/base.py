"""The interface of every transport. `local` is one of them, with nothing special about it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from allranks.core import CouldNotTell


class Unreachable(CouldNotTell):
    """A node could not be reached or fell silent. `cause` is one word for programs, the text is for people, and `fix`
    is the fix, if it is known."""

    def __init__(self, node: str, cause: str, text: str, fix: str = ""):
        text = text.removeprefix(f"{node}: ")  # of a node that is named by its address
        super().__init__(f"{node}: {text}")
        self.node, self.cause, self.text, self.fix = node, cause, text, fix


@dataclass(frozen=True)
class Completed:
    """A command that ended: its exit code (negative: the signal that ended it) and what it printed."""

    code: int
    out: bytes
    err: bytes


MOST_BYTES = 64 << 20
"""The most bytes that a command may print in total. The longest answer, a chunk of a log in JSON, has a few MiB."""


class Reader(Protocol):
    """asyncio's and asyncssh's streams."""

    async def read(self, n: int) -> bytes: ...


END_SECONDS = 0.5
"""How long to wait after the mark of a command's end for the end of its output, which another process may keep
open."""

LONGEST_END = 128
"""The most bytes of the mark at a command's end."""


async def collected(
    node: str, readers: Sequence[Reader], end: re.Pattern[bytes] | None = None
) -> list[bytes]:
    """The bytes of each reader up to its end, or until END_SECONDS after the first reader has delivered `end`. Raises
    Unreachable if all together exceed `MOST_BYTES`: a broken or hostile node must not fill this machine's memory."""
    left = MOST_BYTES
    parts: list[list[bytes]] = [[] for _ in readers]
    said = asyncio.Event()

    async def one(number: int, reader: Reader) -> None:
        nonlocal left
        tail = b""
        while part := await reader.read(1 << 16):
            left -= len(part)
            if left < 0:
                text = f"it printed more than {MOST_BYTES >> 20} MiB, more than any answer of allranks"
                raise Unreachable(node, "too-much", text)
            parts[number].append(part)
            if end is not None and number == 0:
                if end.search(tail + part):
                    said.set()
                tail = (tail + part)[-LONGEST_END:]

    async def over() -> None:
        await said.wait()
        await asyncio.sleep(END_SECONDS)

    reading = asyncio.gather(*(one(number, reader) for number, reader in enumerate(readers)))
    ending = asyncio.ensure_future(over())
    try:
        await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            reading.result()
    finally:
        for task in (reading, ending):
            task.cancel()
        await asyncio.gather(reading, ending, return_exceptions=True)
    return [b"".join(one) for one in parts]


class Transport(Protocol):
    """One node, for the whole of one verb."""

    node: str

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_seconds: float = 60.0
    ) -> Completed:
        """Runs `argv` to its end. Raises Unreachable when the node does not answer within the time."""
        ...

    def stream(self, argv: Sequence[str], *, stdin: bytes = b"") -> AsyncGenerator[bytes, None]:
        """The lines that `argv` prints, as they come; ends the command when the iterator is closed."""
        ...

    async def close(self) -> None: ...
