"""`--nodes`: runs that another machine started are found by asking the nodes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from allranks import cli
from allranks.core import BadInput, CouldNotTell, Node
from allranks.runs import index, run_discovery
from allranks.runs.node_targets import Access
from allranks.transport import Nodes, Unreachable

RUN = "x-0101-aaaa"


class Place:
    """A node that tells these runs."""

    def __init__(self, name: str, *runs: dict[str, Any] | Exception):
        self.node, self.runs, self.transport = name, runs, SimpleNamespace(close=self.close)

    async def call(self, *words: str) -> dict[str, Any]:
        assert words == ("read", "runs")
        if self.runs and isinstance(self.runs[0], Exception):
            raise self.runs[0]
        return {"runs": list(self.runs)}

    async def close(self) -> None:
        return None


def status(run_id: str = RUN, head: bool = False, own: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """What `read runs` tells of a run: the keeper's part on its head alone."""
    keeper = (
        {"state": "running", "nodes": ["gpu-a", "gpu-b"], "keeper_alive": True} if head else {"state": None}
    )
    supervisors = {name: {"alive": True, "pid": 7} for name in own}
    return {"id": run_id, "name": "x", "started_at": 5.0, "supervisors": supervisors, **keeper, **more}


@pytest.fixture
def ask(home: Path, monkeypatch: pytest.MonkeyPatch):
    def ask(*places: Place, access: Access | None = None) -> list[str]:
        nodes = {place.node: Node(place.node, f"10.0.0.{n}", n) for n, place in enumerate(places, 1)}
        targets = Nodes({place.node: place for place in places}, nodes)  # type: ignore[dict-item]
        monkeypatch.setattr(run_discovery, "open_targets", lambda text, given: targets)
        return asyncio.run(run_discovery.discover("n[1-9]", access or Access()))

    return ask


def addresses(run_id: str = RUN) -> list[tuple[str, str]]:
    return [(node["name"], node["address"]) for node in index.entry(run_id)["nodes"]]


def test_a_run_is_known_with_its_nodes_its_head_first(ask) -> None:
    assert ask(Place("n1", status(own=("gpu-b",))), Place("n2", status(head=True, own=("gpu-a",)))) == [RUN]
    assert addresses() == [("gpu-a", "10.0.0.2"), ("gpu-b", "10.0.0.1")]
    assert index.entry(RUN)["launch"] == "ssh" and asyncio.run(index.find(RUN)) == RUN


def test_a_node_that_was_not_asked_is_tried_by_its_name(ask) -> None:
    ask(Place("n1", status(head=True, own=("gpu-a",))))
    assert addresses() == [("gpu-a", "10.0.0.1"), ("gpu-b", "gpu-b")]


def test_with_a_shared_home_who_sees_the_keeper_is_the_head(ask) -> None:
    both = {"own": ("gpu-a", "gpu-b")}
    one = status(head=True, **both, keeper_alive=None)
    one["supervisors"]["gpu-a"]["alive"] = None
    two = status(head=True, **both)
    two["supervisors"]["gpu-b"]["alive"] = None
    ask(Place("n1", one), Place("n2", two))
    assert addresses() == [("gpu-a", "10.0.0.2"), ("gpu-b", "10.0.0.1")]


def test_a_run_whose_head_was_not_asked_is_not_known(ask) -> None:
    assert ask(Place("n1", status(own=("gpu-b",)))) == []
    assert index.entries() == []


def test_what_is_known_here_stays_as_it_is(ask, home: Path) -> None:
    index.folder().mkdir(mode=0o700)
    (index.folder() / f"{RUN}.json").write_text(json.dumps({"id": RUN, "mine": True}))
    assert ask(Place("n1", status(head=True, own=("gpu-a",)))) == [RUN]
    assert index.entry(RUN) == {"id": RUN, "mine": True}


def test_a_node_that_is_silent_hides_no_other(ask) -> None:
    silent = Unreachable("n1", "timeout", "it does not answer")
    assert ask(Place("n1", silent), Place("n2", status(head=True, own=("gpu-a",)))) == [RUN]
    with pytest.raises(CouldNotTell, match="it does not answer"):
        ask(Place("n1", silent))


@pytest.mark.parametrize("run_id", ["../x", "", "a/b", ".hidden"])
def test_an_id_that_is_no_name_is_refused(ask, run_id: str) -> None:
    with pytest.raises(BadInput):
        ask(Place("n1", status(run_id, head=True)))


@pytest.mark.parametrize("name", ["-oProxyCommand=x", "a b", "../x", ""])
def test_a_name_of_a_node_that_is_none_is_refused(ask, name: str) -> None:
    with pytest.raises(BadInput):
        ask(Place("n1", status(head=True, nodes=[name])))


@pytest.mark.parametrize("verb", ["ps", "watch", "logs", "stop", "clean", "report"])
def test_every_verb_that_takes_a_run_asks_the_nodes_first(home: Path, monkeypatch, verb: str) -> None:
    async def discover(nodes: str, access: Access) -> list[str]:
        raise CouldNotTell(f"asked {nodes}")

    monkeypatch.setattr(run_discovery, "discover", discover)
    words = [verb, RUN] if verb in ("stop",) else [verb]
    assert cli.main([*words, "--nodes", "n[1-2]"]) == 3
