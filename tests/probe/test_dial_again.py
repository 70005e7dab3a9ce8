"""Connections that were waited for in vain are dialled once more where many dial at once, and only those."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from allranks.core import Node
from allranks.probe.results import DATA, Ear
from allranks.probe.tcp import MANY_NODES, Asked, dial_all
from allranks.transport import Nodes


class Program:
    """A node whose connections to `n1` fail: the first time alone, or each time."""

    def __init__(self, name: str, outcomes: list[str]):
        self.name, self.outcomes = name, outcomes
        self.asked: list[list[str]] = []

    async def call(self, _verb: str, _what: str, *, stdin: dict[str, Any], timeout_seconds: float) -> dict:
        targets = [one for one in stdin["targets"] if one["kind"] == DATA]
        self.asked.append([one["node"] for one in targets])
        outcome = self.outcomes[min(len(self.asked), len(self.outcomes)) - 1]
        return {"dials": [{**one, "outcome": outcome if one["node"] == "n1" else "ok"} for one in targets]}


def dialled(size: int, outcomes: list[str]) -> tuple[Counter[str], dict[str, Program]]:
    programs = {f"n{number}": Program(f"n{number}", outcomes) for number in range(size)}
    nodes = {name: Node(name, f"10.0.0.{rank}", rank) for rank, name in enumerate(programs)}
    ears = {name: Ear(name, address=node.address, port=4000) for name, node in nodes.items()}
    asked = Asked(key="00", head="n0", port=39500)
    dials, unreached = asyncio.run(dial_all(Nodes(programs, nodes), ears, asked))
    assert not unreached and len(dials) == size * (size - 1)
    return Counter(one.outcome for one in dials), programs


@pytest.mark.parametrize("outcome", ["silent", "dropped", "unanswered"])
def test_what_stands_at_the_second_time_is_no_fault(outcome: str) -> None:
    seen, programs = dialled(MANY_NODES, [outcome, "ok"])
    assert seen == {"ok": MANY_NODES * (MANY_NODES - 1)}
    assert programs["n0"].asked[1:] == [["n1"]] and len(programs["n1"].asked) == 1


def test_what_fails_twice_is_told() -> None:
    seen, programs = dialled(MANY_NODES, ["dropped", "dropped"])
    assert seen["dropped"] == MANY_NODES - 1 and len(programs["n5"].asked) == 2


def test_an_answer_is_an_answer() -> None:
    seen, programs = dialled(MANY_NODES, ["refused", "ok"])
    assert seen["refused"] == MANY_NODES - 1 and len(programs["n5"].asked) == 1


def test_few_nodes_are_not_asked_twice() -> None:
    seen, programs = dialled(4, ["dropped", "ok"])
    assert seen["dropped"] == 3 and len(programs["n3"].asked) == 1
