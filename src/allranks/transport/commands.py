"""One command on many nodes, each answer or failure by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from allranks.core import Node
from allranks.core.untrusted import integer, number
from allranks.transport.nodes import Nodes
from allranks.transport.program import NodeProgram

EXTRA_SECONDS = 60.0
"""Beyond the command's own time: the connection, the bundle, and the end of a command whose time is over."""


@dataclass(frozen=True)
class CommandResult:
    """The result of a command on one node. `error` says why nothing is known, and `fix` what to do; else `code` is its
    exit code (negative: a signal), or None if its time was over. `output` is as the node gave it:
    data, never for a terminal as it is."""

    node: str
    code: int | None = None
    output: str = ""
    left_out_bytes: int = 0
    seconds: float | None = None
    timed_out: bool = False
    error: str = ""
    fix: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the command ended by itself, and how."""
        return not self.error and not self.timed_out and self.code is not None

    def as_json(self) -> dict[str, Any]:
        if self.error:
            return {"node": self.node, "error": self.error, **({"fix": self.fix} if self.fix else {})}
        return {name: value for name, value in vars(self).items() if name not in ("error", "fix")}


async def run_on_all(
    nodes: Nodes, argv: Sequence[str], seconds: float, heard: Callable[[str], None] = lambda _: None
) -> list[CommandResult]:
    """Runs `argv` on every node at the same time, for at most `seconds` each; `heard` is called with the name of each
    node that has answered, or failed to. The results are in the order of the nodes."""
    wanted = {"argv": list(argv), "seconds": seconds}

    async def one(node: Node, program: NodeProgram) -> CommandResult:
        try:
            answer = await program.call("command", stdin=wanted, timeout_seconds=seconds + EXTRA_SECONDS)
        finally:
            heard(node.name)
        return CommandResult(
            node.name,
            integer(answer.get("code")),
            str(answer.get("output") or ""),
            integer(answer.get("left_out_bytes")) or 0,
            number(answer.get("seconds")),
            answer.get("timed_out") is True,
        )

    outcomes = await nodes.each(one)
    return [
        CommandResult(outcome.node.name, error=outcome.error.text, fix=getattr(outcome.error, "fix", ""))
        if outcome.error is not None
        else outcome.answer
        for outcome in outcomes
    ]


def exit_code(results: Sequence[CommandResult]) -> int:
    """1 if the command failed on a node, 3 if the result of a node is unknown, 0 if it succeeded on all."""
    if any(one.is_known and one.code for one in results):
        return 1
    return 0 if results and all(one.is_known for one in results) else 3
