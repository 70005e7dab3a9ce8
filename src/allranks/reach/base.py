"""What every way of reaching a node can do. `local` is one of them, with nothing special about it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from allranks.words import CouldNotTell


class Unreachable(CouldNotTell):
    """A node could not be reached or fell silent. `cause` is one word for a program, the text is for people."""

    def __init__(self, node: str, cause: str, text: str):
        super().__init__(f"{node}: {text}")
        self.node, self.cause, self.text = node, cause, text


@dataclass(frozen=True)
class Completed:
    """A command that ended: its exit code (negative: the signal that ended it) and what it printed."""

    code: int
    out: bytes
    err: bytes


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
