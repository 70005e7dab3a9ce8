"""A run whose head does not answer: lost where the others say that they heard nothing from it, unknown elsewhere."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.runs import index
from allranks.transport import ProgramFailed, Unreachable

RUN = "x-0101-aaaa"
LEASE = {"at": 700.5, "kind": "lease-lost", "node": "node2", "rank": None, "data": {}}
ENDED = {"at": 600.0, "kind": "torchrun-ended", "node": "node2", "rank": None, "data": {"code": 0}}


class Head:
    async def call(self, *_words: str) -> dict:
        raise Unreachable("node1", "no-route", "no route to host")


class Other:
    def __init__(self, name: str, alive: bool | None, *events: dict):
        self.name, self.alive = name, alive
        self.text = 'lf a line"}\n' + "".join(json.dumps(event) + "\n" for event in events)

    async def call(self, *words: str) -> dict:
        if words[1] == "status":
            return {"state": None, "supervisors": {self.name: {"alive": self.alive, "pid": 7}}}
        assert words[:3] == ("read", "chunk", RUN) and words[3] == f"nodes/{self.name}/journal.jsonl"
        return {"text": self.text}


class Odd:
    """A node that answers what no version of ours does."""

    def __init__(self, answer: Any):
        self.answer = answer

    async def call(self, *_words: str) -> Any:
        return self.answer


class Nodes(SimpleNamespace):
    def __getitem__(self, name: str) -> Any:
        return self.programs[name]

    async def close(self) -> None:
        return None


def told(monkeypatch, *others: Any, head: Any = None) -> dict:
    programs = {"node1": head or Head(), **{f"node{n}": one for n, one in enumerate(others, 2)}}
    monkeypatch.setattr(index, "nodes_of", lambda _run_id: Nodes(programs=programs))
    return asyncio.run(index.told_by_head({"id": RUN, "launch": "ssh", "created_at": 5.0}))


def test_a_run_is_lost_where_its_other_nodes_stopped_for_want_of_the_head(monkeypatch) -> None:
    state = told(monkeypatch, Other("node2", False, LEASE), Other("node3", False, {**LEASE, "at": 700.1}))
    assert state["state"] == "lost" and "node2, node3 stopped" in state["why"]
    diagnosis = state["diagnosis"]
    assert (diagnosis["cause"], diagnosis["where"]["node"], diagnosis["first_seen"]) == (
        "node-failure",
        "node1",
        700.1,
    )


@pytest.mark.parametrize(
    "others",
    [
        (Other("node2", True, LEASE), Other("node3", False, LEASE)),
        (Other("node2", None, LEASE),),
        (Other("node2", False, ENDED), Other("node3", False, ENDED)),
        (Other("node2", False, LEASE), Other("node3", False, ENDED)),
        (Other("node2", False, LEASE), Head()),
        (Other("node2", False, LEASE), Odd([])),
        (Other("node2", False, LEASE), Odd({"supervisors": {"node3": None}})),
        (Other("node2", False, LEASE), Odd({"supervisors": ["node3"]})),
        (),
    ],
    ids=[
        *(
            "one lives",
            "cannot be seen",
            "it had ended well",
            "a spare took a node's place",
            "another is silent",
        ),
        *("a list", "no supervisor", "supervisors as a list", "no other"),
    ],
)
def test_what_nobody_saw_stays_unknown(monkeypatch, others: tuple) -> None:
    state = told(monkeypatch, *others)
    assert state["state"] is None and "no route" in state["why"]


def test_a_head_that_answers_is_not_gone(monkeypatch) -> None:
    class Failing:
        async def call(self, *_words: str) -> dict:
            raise failed

    failed = ProgramFailed("node1", "read", "no space left on device")
    assert told(monkeypatch, Other("node2", False, LEASE), head=Failing())["state"] is None
