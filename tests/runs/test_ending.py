"""What is left of a run: a node that did not answer is not a node with nothing on it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from allranks.reach import Nodes, Outcome, Unreachable
from allranks.runs import ending
from allranks.runs.ending import Leftovers, once_a_host, remaining
from allranks.words import Node


class Answers:
    """A node program that says the same to everything."""

    def __init__(self, answer: dict[str, Any] | None):
        self.answer = answer

    async def call(self, *_words: str, **_options: Any) -> dict[str, Any]:
        if self.answer is None:
            raise Unreachable("node-1", "timeout", "no route")
        return self.answer


def nodes_that_say(*answers: dict[str, Any] | None, same_host: bool = False) -> Nodes:
    nodes = [Node(f"node-{i}", "127.0.0.1" if same_host else f"10.0.0.{i}", i) for i, _ in enumerate(answers)]
    programs: dict[str, Any] = {n.name: Answers(a) for n, a in zip(nodes, answers, strict=True)}
    return Nodes(programs, {n.name: n for n in nodes})


PROCESS = {"pid": 7, "start_time": 70, "name": "python3"}


def left(nodes: Nodes) -> tuple[int, dict[str, str]]:
    return asyncio.run(remaining(nodes, "a-run"))


def test_a_node_that_does_not_answer_is_named() -> None:
    living, unreadable = left(nodes_that_say({"processes": []}, None))
    assert living == 0
    assert "no route" in unreadable["node-1"]


def test_a_node_that_nobody_can_see_is_named() -> None:
    one, other = {"processes": [], "unseen": ["node-1"]}, {"processes": [], "unseen": ["node-0", "node-1"]}
    assert list(left(nodes_that_say(one, other))[1]) == ["node-1"]


def test_nodes_that_share_a_home_and_see_themselves_are_fine() -> None:
    one, other = {"processes": [], "unseen": ["node-1"]}, {"processes": [], "unseen": ["node-0"]}
    assert left(nodes_that_say(one, other)) == (0, {})


def test_nodes_of_one_host_count_a_process_once() -> None:
    assert left(nodes_that_say({"processes": [PROCESS]}, {"processes": [PROCESS]}, same_host=True))[0] == 1
    assert left(nodes_that_say({"processes": [PROCESS]}, {"processes": [PROCESS]}))[0] == 2


def test_clean_says_which_node_could_not_be_looked_at() -> None:
    gone = Outcome(Node("node-1", "10.0.0.1", 1), error=Unreachable("node-1", "timeout", "no route"))
    assert "no route" in Leftovers({"a-run": once_a_host([gone])}).lines()[0]


@pytest.mark.parametrize(
    ("node", "is_removed"),
    [
        ({"processes": [], "unseen": [], "files": ["x"]}, True),
        ({"processes": [PROCESS], "unseen": []}, False),
        ({"processes": [], "unseen": ["node-0"]}, False),
        ({"processes": [], "error": "no route"}, False),
    ],
    ids=["seen-to-be-over", "at-work", "unseen", "unreachable"],
)
def test_clean_takes_a_silent_run_for_ended_only_where_all_of_it_is_seen(
    monkeypatch: pytest.MonkeyPatch, node: dict[str, Any], is_removed: bool
) -> None:
    silent = {
        "id": "a-run",
        "state": None,
        "why": "nothing written",
        "silent_seconds": 400.0,
        "directory": "/x",
    }

    async def runs() -> list[dict[str, Any]]:
        return [silent, {"id": "far", "state": None, "why": "no route"}, {"id": "on", "state": "running"}]

    async def sweep(run_id: str, dry_run: bool) -> list[dict[str, Any]]:
        assert (run_id, dry_run) == ("a-run", True)
        return [{"node": "node-0", **node}]

    monkeypatch.setattr(ending.index, "all_runs", runs)
    monkeypatch.setattr(ending, "sweep", sweep)
    found = asyncio.run(ending.leftovers(None, files=True))
    assert ("a-run" in found.runs, "a-run" in found.directories) == (is_removed, is_removed)
    assert found.running == ("on",) and set(found.unknown) == {"far"} | (set() if is_removed else {"a-run"})
    assert any("far is left alone, its state is unknown: no route" in line for line in found.lines())
