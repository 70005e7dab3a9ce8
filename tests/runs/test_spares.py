"""A node that failed twice, or is gone, is left out; a spare takes its place."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.node.paths import RunDirectory
from allranks.node.spawn import at_place
from allranks.runs.keeper import Keeper
from allranks.runs.keeper_places import Places, Swap, seconds_until_alone
from allranks.runs.keeper_restart import Restarts
from allranks.spec import load
from allranks.words import Diagnosis, Event, Where

sys.path.insert(0, str(Path(__file__).parent))
from runner import Runner

TASK = {
    "nodes": ["a", "b", "c", "d"],
    "places": [{"node": "a", "ranks": [0, 1]}, {"node": "b", "ranks": [2, 3]}],
}


def blamed(node: str) -> Diagnosis:
    return Diagnosis("rank-sigkilled", "likely", Where(node=node, rank=2))


def test_a_node_is_left_out_after_its_second_failure() -> None:
    places = Places(TASK)
    assert (places.at, places.spares) == (["a", "b"], ["c", "d"])
    places.failed(blamed("b"))
    assert places.swaps([], {"a", "b", "c", "d"}, set()) == []
    places.failed(blamed("b"))
    (swap,) = places.swaps([], {"a", "b", "c", "d"}, set())
    assert swap == Swap("b", "c", "it failed 2 times")
    (note,) = places.apply([swap])
    assert (note["by"], note["ranks"]) == ("c", [2, 3])
    assert (places.at, places.spares) == (["a", "c"], ["d"])
    assert (places.of("a"), places.of("c")) == ({}, {"place": {"node_rank": 1, "ranks": [2, 3]}})
    assert not places.trains("b")


def test_a_gone_node_is_replaced_at_once_by_a_spare_that_is_there() -> None:
    places = Places(TASK)
    assert places.swaps(["b"], {"a", "d"}, {"b"}) == [Swap("b", "d", "it does not answer")]
    assert places.swaps(["b"], {"a"}, {"b"}) == []


def test_a_node_that_is_heard_but_not_swept_keeps_its_place() -> None:
    places = Places(TASK)
    assert places.swaps(["b"], {"a", "b", "d"}, set()) == []
    for _ in range(2):
        places.failed(blamed("b"))
    assert places.swaps(["b"], {"a", "b", "d"}, set()) == [], "also one that failed twice"


def test_the_head_stays() -> None:
    places = Places(TASK)
    for _ in range(3):
        places.failed(blamed("a"))
    assert places.swaps(["a"], {"b", "c", "d"}, {"a"}) == []


def faulted(*numbers: int, confidence: str = "certain", node: str = "b") -> Diagnosis:
    lines = tuple(f"NVRM: Xid (PCI:0000:53:00): {number}, pid=101, name=python3" for number in numbers)
    return Diagnosis("xid-gpu-fault", confidence, Where(node=node, rank=2), evidence=("CUDA error", *lines))


@pytest.mark.parametrize("number", [48, 62, 64, 79, 95, 119, 120])
@pytest.mark.parametrize("beside", [45, 94])
def test_a_node_whose_gpu_must_be_reset_is_left_out_at_once(number: int, beside: int) -> None:
    places, restarts = Places(TASK), Restarts(3)
    cause = faulted(beside, number)
    places.failed(cause)
    assert not restarts.decide(cause, 5, [], False, places.unable([])).again and restarts.used == 0
    swaps = places.swaps([], {"a", "b", "c", "d"}, set())
    assert swaps == [Swap("b", "c", f"a GPU of it must be reset (Xid {number})")]
    assert places.unable(swaps) == ""
    assert restarts.decide(cause, 5, [], True, places.unable(swaps)).again
    places.apply(swaps)
    assert places.unable([]) == ""


def test_without_a_spare_nothing_starts_again_on_a_dead_gpu() -> None:
    places = Places(TASK)
    places.failed(faulted(79, node="a"))  # the head, which stays where it is
    decision = Restarts(3).decide(faulted(79, node="a"), 5, [], False, places.unable([]))
    assert not decision.again and "a (Xid 79)" in decision.why


@pytest.mark.parametrize(
    "cause",
    [
        faulted(31),
        faulted(94),
        faulted(63),
        faulted(79, confidence="likely"),
        faulted(),
        blamed("b"),
    ],
)
def test_a_gpu_that_a_restart_is_enough_for_keeps_its_place_once(cause: Diagnosis) -> None:
    places = Places(TASK)
    places.failed(cause)
    assert places.swaps([], {"a", "b", "c", "d"}, set()) == [] and places.unable([]) == ""
    assert Restarts(3).decide(cause, 5, [], False, places.unable([])).again


def test_a_silent_node_has_its_lease_and_grace_time_to_stop_its_ranks() -> None:
    nodes = {"b": SimpleNamespace(seen_at=100.0), "e": SimpleNamespace(seen_at=None)}
    job = {"lease_seconds": 30.0, "grace_seconds": 10.0}
    assert seconds_until_alone(["b", "e", "x"], nodes, job, 110.0) == 30.0
    assert seconds_until_alone(["b"], nodes, job, 150.0) == 0.0
    assert seconds_until_alone([], nodes, job, 110.0) == 0.0


def test_torchruns_words_change_and_the_scripts_stay() -> None:
    words = [
        "python",
        "-m",
        "torch.distributed.run",
        "--nproc-per-node=8",
        "--node-rank=3",
        "--max-restarts=0",
    ]
    script = ["train.py", "--node-rank=3"]
    place = {"node_rank": 1, "ranks": [4, 5]}
    placed = [*words[:3], "--nproc-per-node=2", "--node-rank=1", "--max-restarts=0", *script]
    assert at_place([*words, *script], place) == placed
    assert at_place([*words, *script], {}) == [*words, *script]


def test_spares_have_no_ranks_in_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    data = {"nodes": "n[1-3]", "gpus": 2, "launch": {"spares": 1}, "train": {"command": ["train.py"]}}
    path.write_text(json.dumps(data))
    run = load(path)
    assert [node.name for node in run.cluster.training] == ["n1", "n2"]
    assert run.cluster.world_size == 4
    assert [node.name for node in run.without_spares().cluster.nodes] == ["n1", "n2"]


@pytest.fixture
def waiting(home: Path, tmp_path: Path) -> Iterator[Keeper]:
    """A keeper of two nodes that train and one that waits; it dials nobody and is not started."""
    directory = RunDirectory("kept-1121-abcd", str(home))
    directory.create(node="a", keeper=True)
    keep = {
        "name": "kept",
        "nodes": ["a", "b", "c"],
        "places": [{"node": "a", "ranks": [0]}, {"node": "b", "ranks": [1]}],
        "restarts": 1,
        "output_dir": str(tmp_path / "output"),
        "expect": {"world_size": 2},
    }
    job = {
        "run_id": "kept-1121-abcd",
        "node": "a",
        "keeper": {"host": "127.0.0.1", "port": 0},
        "grace_seconds": 0.5,
        "lease_seconds": 5,
        "keep": keep,
    }
    keeper = Keeper(directory, job, bytes(32))
    yield keeper
    keeper.record.close()
    keeper.listener.close()


def test_a_spare_that_takes_a_place_is_known_to_the_judge_of_the_next_attempt(waiting: Keeper) -> None:
    """It joined and told of its machine while it waited, when nobody judged it."""
    for node in ("a", "b", "c"):
        waiting._on_joined(node)
        said = Event(time.time(), "supervisor", node, None, {"process": {"boot_id": f"boot-{node}"}})
        waiting._on_message(node, {"event": said.as_json()})
    assert sorted(waiting.watch.run.nodes) == ["a", "b"], "who waits is not judged"
    waiting.record.swept.add("a")
    waiting.lost.add("b")
    waiting._hear(Event(time.time(), "lost", "b", None, {"why": "no word"}))
    waiting.watch.run.nodes["b"].seen_at = time.time() - 60.0
    finish: Any = SimpleNamespace(go_on=lambda keep_word: None)
    assert waiting._starts_again(finish) and waiting.places.at == ["a", "c"]
    assert sorted(waiting.watch.run.nodes) == ["a", "c"]
    spare = waiting.watch.run.nodes["c"]
    assert (spare.boot_id, spare.lost_at) == ("boot-c", None)
    assert spare.joined_at is not None and spare.seen_at is not None and spare.seen_at > time.time() - 60.0


@pytest.fixture
def runner(home: Path, tmp_path: Path) -> Iterator[Runner]:
    runner = Runner(tmp_path)
    yield runner
    for run in runner.runs():
        if run["state"] not in ("succeeded", "failed", "stopped", "lost"):
            runner.call("stop", run["id"], "-y")


@pytest.mark.training
def test_a_spare_takes_the_ranks_of_a_node_that_failed_twice(runner: Runner) -> None:
    file = runner.file(
        *("--fault", "kill", "--rank", 1, "--on", "node-1", "--steps", 12),
        launch={"restarts": 2, "spares": 1},
    )
    run = runner.json("run", file, code=0)["runs"][0]
    assert (run["state"], run["step"]) == ("succeeded", 12)
    events = runner.events(run["id"])
    (note,) = [e["data"] for e in events if e["kind"] == "replaced"]
    assert (note["node"], note["by"], note["ranks"]) == ("node-1", "node-2", [1])
    started = [(e["node"], e["data"]["attempt"]) for e in events if e["kind"] == "torchrun"]
    assert sorted(started) == [("node-0", n) for n in range(3)] + [
        ("node-1", 0),
        ("node-1", 1),
        ("node-2", 2),
    ]
    sizes = {e["data"]["world_size"] for e in events if e["kind"] == "start"}
    assert sizes == {2}
    assert runner.left() == []
