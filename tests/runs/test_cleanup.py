"""What is left of a run: a node that did not answer is not a node with nothing on it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from allranks.core import Node
from allranks.launch.launchers.slurm import jobs as slurm_jobs
from allranks.launch.launchers.slurm.jobs import Job
from allranks.runs import cleanup
from allranks.runs.cleanup import Leftovers, once_a_host, remaining
from allranks.transport import Nodes, Outcome, ProgramFailed, Unreachable


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


def test_clean_names_what_it_leaves_alone_in_words() -> None:
    claim = {"pid": 133, "start_time": 181209, "name": "tail", "why": "it is of another session"}
    lines = Leftovers({"a-run": [{"node": "node-1", "processes": [], "foreign": [claim]}]}).lines()
    assert lines == ["a-run  node-1  left alone: pid 133  tail, it is of another session"]


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

    async def saved_in(run_id: str) -> tuple[list[dict[str, Any]], bool]:
        return [], True

    monkeypatch.setattr(cleanup.index, "all_runs", runs)
    monkeypatch.setattr(cleanup, "sweep", sweep)
    monkeypatch.setattr(cleanup, "saved_in", saved_in)
    found = asyncio.run(cleanup.leftovers(None, files=True))
    assert ("a-run" in found.runs, "a-run" in found.directories) == (is_removed, is_removed)
    assert found.running == ("on",) and set(found.unknown) == {"far"} | (set() if is_removed else {"a-run"})
    assert any("far is left alone, its state is unknown: no route" in line for line in found.lines())


class Closing:
    async def close(self) -> None:
        pass


class Node0Gone:
    """The programs of a run whose head is dead or has lost the run's folder; `asked` is what the others heard."""

    def __init__(self, error: Exception):
        self.asked: list[tuple[str, ...]] = []
        nodes = [Node(f"node-{i}", f"10.0.0.{i}", i) for i in range(3)]
        programs: dict[str, Any] = {node.name: self.program(node.name, error) for node in nodes}
        self.nodes = Nodes(programs, {node.name: node for node in nodes})

    def program(self, name: str, error: Exception) -> Any:
        asked = self.asked

        class Program:
            node, transport = name, Closing()

            async def call(self, *words: str, **_options: Any) -> dict[str, Any]:
                if name == "node-0":
                    raise error
                asked.append((name, *words))
                if words[0] == "read":
                    raise ProgramFailed(name, "read", "no such file")
                return {"processes": [], "unseen": []}

        return Program()


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("node-0", "timeout", "no route"),
        ProgramFailed("node-0", "stop", "there is no run a-run here."),
    ],
)
def test_a_dead_head_keeps_no_other_node_from_being_stopped(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    run = Node0Gone(error)
    monkeypatch.setattr(cleanup.index, "nodes_of", lambda _run_id: run.nodes)
    result = asyncio.run(cleanup.stop("a-run"))
    assert {words[0] for words in run.asked if words[1:] == ("stop", "a-run", "--direct")} == {
        "node-1",
        "node-2",
    }
    assert (result["state"], result["left"], list(result["unreadable"])) == (None, 0, ["node-0"])


@pytest.mark.parametrize("state", ["COMPLETING", ""])
def test_a_cancelled_job_that_still_ends_is_no_run_of_which_nothing_is_left(
    home: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    async def job(number: str) -> Job:
        return Job(number, state)

    async def cancel(_number: str, _run_id: str) -> bool:
        return True

    monkeypatch.setattr(slurm_jobs, "job", job)
    monkeypatch.setattr(slurm_jobs, "cancel", cancel)
    monkeypatch.setattr(cleanup, "JOB_SECONDS", 0.0)
    nodes = [{"name": "node-0"}, {"name": "node-1"}]
    cleanup.index.write("a-run", {"id": "a-run", "launch": "slurm", "address": "77", "nodes": nodes})
    result = {"id": "a-run", "state": None, "left": 0, "unreadable": {"node-0": "no route"}}
    ended = asyncio.run(cleanup.ended_job(result))
    assert ended is not None and ended["cancelled"] == "77"
    if state:
        assert ended["state"] is None and ended["unreadable"]["node-0"] == "no route"
        assert "job 77 is still COMPLETING" in ended["unreadable"]["node-1"]
    else:
        assert (ended["state"], ended["unreadable"]) == ("lost", {})


@pytest.mark.parametrize(
    ("own", "keeper_alive", "told", "is_left_alone"),
    [
        (True, True, {"state": "stopped"}, True),
        (True, True, {"state": "running", "phase": "prune"}, True),
        (True, True, {"state": "running", "phase": "watch"}, False),
        (False, True, {"state": "stopped"}, False),
        (True, None, {"state": "stopped"}, False),
    ],
)
def test_a_keeper_that_finishes_is_not_ended_by_stop(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    own: bool,
    keeper_alive: bool | None,
    told: dict[str, Any],
    is_left_alone: bool,
) -> None:
    said: list[tuple[str, ...]] = []

    class Program:
        node, transport = "node-0", Closing()

        async def call(self, *words: str, **_options: Any) -> dict[str, Any]:
            said.append(words)
            if words[:2] == ("read", "status"):
                return {**told, "keeper_alive": keeper_alive}
            if words[0] == "read":
                raise ProgramFailed("node-0", "read", "no such file")
            return {"processes": [{**PROCESS, "own": own}], "unseen": []}

    programs: dict[str, Any] = {"node-0": Program()}
    nodes = Nodes(programs, {"node-0": Node("node-0", "10.0.0.1", 0)})
    monkeypatch.setattr(cleanup.index, "nodes_of", lambda _run_id: nodes)
    waits = cleanup.wait_for_end
    monkeypatch.setattr(cleanup, "wait_for_end", lambda head, run_id, seconds: waits(head, run_id, 0.0))
    result = asyncio.run(cleanup.stop("a-run"))
    assert (("stop", "a-run", "--direct") not in said) == is_left_alone
    assert (result["left"], bool(result.get("finishes"))) == ((0, True) if is_left_alone else (1, False))


def test_one_call_that_fails_does_not_end_the_wait_for_ranks_that_save(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: list[dict[str, Any] | None] = [{"state": "running"}, None, {"state": "stopped"}]

    class Head:
        async def call(self, *_words: str) -> dict[str, Any]:
            answer = answers.pop(0)
            if answer is None:
                raise Unreachable("node-0", "reset", "Connection reset by peer")
            return answer

    async def no_time(_seconds: float) -> None:
        return None

    monkeypatch.setattr(cleanup.asyncio, "sleep", no_time)
    head: Any = Head()
    assert asyncio.run(cleanup.wait_for_end(head, "a-run", 60.0)) == "stopped"
    answers[:] = [None]
    assert asyncio.run(cleanup.wait_for_end(head, "a-run", -1.0)) is None
