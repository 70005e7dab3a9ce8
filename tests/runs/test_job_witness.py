"""What becomes of a node that does not answer, or not in time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from allranks.core import Node
from allranks.runs import job_witness
from allranks.runs.job_witness import Wanted, observe
from allranks.transport import Nodes
from allranks.transport.base import Completed, Unreachable
from allranks.transport.program import NodeProgram


class Way:
    """A node that hangs in what `hangs` names, and answers otherwise."""

    def __init__(self, node: str, hangs: str, cause: str = ""):
        self.node, self.hangs, self.cause = node, hangs, cause

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_seconds: float = 60.0
    ) -> Completed:
        if self.cause:
            raise Unreachable(self.node, self.cause, "no", "do it")
        if self.hangs == "all" or self.hangs == argv[0]:
            await asyncio.sleep(600)
        return Completed(0, json.dumps({"seconds": 0.1, "ranks": [], "others": 2}).encode(), b"")

    async def close(self) -> None:
        return None


@pytest.mark.parametrize(
    ("hangs", "cause", "unreachable", "said"),
    [
        ("", "", False, ""),
        ("all", "", True, "it did not answer within"),
        ("python3", "", False, "it answers, but the look did not end"),
        ("", "timeout", True, "no. do it"),
        ("", "host-key-unknown", False, "no. do it"),
    ],
)
def test_a_machine_that_lives_is_told_from_one_that_does_not_answer(
    hangs: str, cause: str, unreachable: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_witness, "USUAL_SECONDS", 0.02)
    monkeypatch.setattr(job_witness, "CONNECT_SECONDS", 0.06)
    monkeypatch.setattr(job_witness, "EACH_SECONDS", 0.0)
    nodes = Nodes({"a": NodeProgram(Way("a", hangs, cause))}, {"a": Node("a", "a", 0)})
    (seen,) = asyncio.run(observe(nodes, Wanted(0.02)))
    assert (seen.unreachable, seen.others) == (unreachable, 0 if said else 2)
    assert said in seen.error
