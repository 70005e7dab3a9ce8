"""A node that failed twice, or is gone, is left out; a spare takes its place."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.core import Diagnosis, Event, Where
from allranks.core.messages import Place
from allranks.node.paths import RunDirectory
from allranks.node.spawn import at_place
from allranks.node.supervisor_link import Message
from allranks.runs.keeper import Keeper
from allranks.runs.keeper_attempt import Attempt
from allranks.runs.keeper_io_worker import run_out
from allranks.runs.keeper_restart import Restarts
from allranks.runs.keeper_spares import Places, Swap, seconds_until_alone
from allranks.runs.keeper_stop_request import STOP_MARGIN_SECONDS
from allranks.spec import load
from tests.harness.desk import Desk

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
    assert (note.by, note.ranks) == ("c", [2, 3])
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


def said(words: str) -> Diagnosis:
    line = f"NVRM: Xid (PCI:0000:53:00): 154, {words}"
    return Diagnosis("xid-gpu-fault", "certain", Where(node="b", rank=2), evidence=("CUDA error", line))


@pytest.mark.parametrize("action", ["GPU Reset Required", "Node Reboot Required", "Drain and Reset"])
def test_the_drivers_own_word_that_a_gpu_must_be_reset_leaves_its_node_out(action: str) -> None:
    places = Places(TASK)
    places.failed(said(f"GPU recovery action changed from 0x0 (None) to 0x1 ({action})"))
    assert [swap.node for swap in places.swaps([], {"a", "b", "c", "d"}, set())] == ["b"]


@pytest.mark.parametrize("number", [48, 62, 64, 79, 95, 119, 120, 136, 140, 143, 154])
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
        faulted(74),
        said("GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"),
        said("GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)"),
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
    place = Place(node_rank=1, ranks=[4, 5])
    placed = [*words[:3], "--nproc-per-node=2", "--node-rank=1", "--max-restarts=0", *script]
    assert at_place([*words, *script], place) == placed
    assert at_place([*words, *script], None) == [*words, *script]


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


NOTHING = {"found": None}


def looks(answer: Any = NOTHING, meanwhile: Callable[[], Any] = lambda: None) -> Any:
    """The end of a run whose look for what to go on from gives `answer`."""

    def go_on(keep_word: bool, is_to_end: Callable[[], bool]) -> Iterator[None]:
        meanwhile()
        return answer
        yield

    return SimpleNamespace(go_on=go_on)


def waits(keeper: Keeper, meanwhile: Callable[[float], Any]) -> None:
    """In the wait before a restart that happens."""

    def back_off(seconds: float) -> Iterator[None]:
        meanwhile(seconds)
        return True
        yield

    keeper._back_off = back_off  # type: ignore[method-assign]


def following(keeper: Keeper, finish: Any = None) -> Attempt | None:
    return run_out(keeper._following(finish or looks()))


def test_a_spare_that_takes_a_place_is_known_to_the_judge_of_the_next_attempt(waiting: Keeper) -> None:
    """It joined and told of its machine while it waited, when nobody judged it."""
    for node in ("a", "b", "c"):
        waiting._on_joined(node)
        said = Event(time.time(), "supervisor", node, None, {"process": {"boot_id": f"boot-{node}"}})
        waiting._on_message(node, {"event": said.as_json()})
    assert sorted(waiting.attempt.watch.run.nodes) == ["a", "b"], "who waits is not judged"
    waiting.attempt.swept.add("a")
    waiting.lost.add("b")
    waiting._hear(Event(time.time(), "lost", "b", None, {"why": "no word"}))
    waiting.attempt.watch.run.nodes["b"].seen_at = time.time() - 60.0
    again = following(waiting)
    assert again is not None and waiting.places.at == ["a", "c"]
    assert sorted(again.watch.run.nodes) == ["a", "c"]
    spare = again.watch.run.nodes["c"]
    assert (spare.boot_id, spare.lost_at) == ("boot-c", None)
    assert spare.joined_at is not None and spare.seen_at is not None and spare.seen_at > time.time() - 60.0


def left_by_b(keeper: Keeper, *spares: str) -> None:
    """The first attempt of a and b has failed, since b is gone; the spares are there."""
    keeper.restarts.budget, keeper.places.spares[:] = 3, list(spares)
    for node in ("a", "b", *spares):
        keeper._on_joined(node)
    keeper.attempt.begin()
    keeper.attempt.stop({"stop": 0.5, "why": "the run failed"})
    keeper.attempt.swept.add("a")
    goes(keeper, "b")
    keeper.attempt.watch.run.nodes["b"].seen_at = time.time() - 60.0


def goes(keeper: Keeper, node: str) -> Any:
    keeper.leases.heard = lambda: [Message("lost", node, {"why": "no word"})]  # type: ignore[method-assign]
    keeper._turn()
    keeper.leases.heard = list  # type: ignore[method-assign]


def comes(keeper: Keeper, node: str, swept: bool = True) -> None:
    keeper._on_joined(node)
    if swept:
        keeper._on_message(node, {"event": Event(time.time(), "swept", node).as_json()})


def told_of_restarts(keeper: Keeper) -> list[tuple[bool, str]]:
    journal = Path(keeper.directory.keeper.journal).read_text().splitlines()
    said = [one["data"] for one in map(json.loads, journal) if one["kind"] == "restart"]
    return [(one["again"], one["why"]) for one in said]


@pytest.mark.parametrize("when", ["look", "wait"])
def test_a_spare_that_is_lost_before_the_restart_takes_no_place(waiting: Keeper, when: str) -> None:
    left_by_b(waiting, "c")
    finish = looks()
    if when == "look":  # for a verified checkpoint, which a slow disk makes long
        finish = looks(meanwhile=lambda: goes(waiting, "c"))
    else:
        waits(waiting, lambda seconds: goes(waiting, "c"))
    assert following(waiting, finish) is None
    assert waiting.places.at == ["a", "b"], "nobody was told to start"
    last = told_of_restarts(waiting)[-1]
    assert not last[0] and last[1].startswith("b does not answer")


def test_another_spare_takes_the_place_of_one_that_is_lost_in_the_wait(waiting: Keeper) -> None:
    left_by_b(waiting, "c", "d")
    waits(waiting, lambda seconds: goes(waiting, "c"))
    attempt = following(waiting)
    assert attempt is not None and waiting.places.at == ["a", "d"]
    assert attempt.watch.run.nodes["d"].lost_at is None
    again, why = told_of_restarts(waiting)[-1]
    assert again and "d takes the place of b" in why


def test_a_node_that_is_lost_in_the_wait_has_its_place_taken_or_ends_the_run(waiting: Keeper) -> None:
    left_by_b(waiting, "c")
    waits(waiting, lambda seconds: goes(waiting, "a"))
    assert following(waiting) is None, "the head stays where it is"
    assert told_of_restarts(waiting)[-1][1].startswith("a does not answer")


def test_where_nobody_could_look_nothing_starts_again(waiting: Keeper) -> None:
    left_by_b(waiting, "c")
    assert following(waiting, looks(None)) is None
    assert waiting.places.at == ["a", "b"]
    assert "restarted" not in [one["id"] for one in waiting.record.state_now["findings"]]


@pytest.mark.parametrize("inside", [True, False])
def test_a_rank_that_is_killed_twice_before_it_has_trained_ends_the_run(
    waiting: Keeper, inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting.restarts.budget = 3
    killed = Diagnosis("rank-sigkilled", "likely", Where(node="a", rank=0))
    monkeypatch.setattr(Attempt, "cause", lambda attempt, now: killed)
    waits(waiting, lambda seconds: None)
    again = []
    for _ in range(2):
        for node, rank in (("a", 0), ("b", 1)):
            comes(waiting, node)
            if inside:
                start = Event(time.time(), "start", node, rank, {"world_size": 2})
                waiting._on_message(node, {"event": start.as_json()})
        attempt = following(waiting)
        again.append(attempt is not None)
        waiting.attempt = attempt or waiting.attempt
    assert again == [True, not inside]


@pytest.mark.parametrize("swept", [True, False])
def test_a_node_that_comes_back_in_the_wait_keeps_its_place_once_it_is_swept(
    waiting: Keeper, swept: bool
) -> None:
    """Its ranks and a spare's would write one checkpoint: it gets the time of a stop to say that they are gone."""
    left_by_b(waiting, "c")
    waited: list[float] = []

    def comes_back(seconds: float) -> None:
        waited.append(seconds)
        comes(waiting, "b", swept=swept and len(waited) == 2)

    waits(waiting, comes_back)
    assert (following(waiting) is not None) is swept and waiting.places.at == ["a", "b"]
    assert waited[:2] == [0.0, 0.5 + STOP_MARGIN_SECONDS]


def test_of_a_spare_that_is_lost_the_judge_hears_only_what_its_machine_is() -> None:
    places = Places(TASK)
    for kind in ("joined", "supervisor", "lost"):
        places.keep(Event(1.0, kind, "c"))
    assert list(places.said["c"]) == ["supervisor"], "it says that once only"
    places.keep(Event(2.0, "joined", "c"))
    assert sorted(places.said["c"]) == ["joined", "supervisor"]


@pytest.mark.training
def test_a_spare_takes_the_ranks_of_a_node_that_failed_twice(runner: Desk) -> None:
    file = runner.light(
        *("--fault", "kill", "--rank", 1, "--on", "node-1", "--steps", 12),
        launch={"restarts": 2, "spares": 1},
    )
    run = runner.run(file, code=0)
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


def test_what_a_supervisor_says_is_refused_where_it_makes_no_sense(waiting: Keeper) -> None:
    for word in ({"event": {"at": 1.0, "kind": "end", "data": {"code": "x"}}}, {"alive": "x"}, {"logs": 3}):
        waiting._on_message("a", word)
    waiting._on_message("b", {"event": {"at": 1e12, "kind": "beat", "rank": 2}})
    journal = Path(waiting.directory.keeper.journal).read_text().splitlines()
    told = [one for one in map(json.loads, journal) if one["kind"] in ("refused", "finding")]
    assert [
        (one["kind"], one["data"].get("id"), one["node"]) for one in told if one["kind"] == "refused"
    ] == [
        ("refused", None, "a"),
        ("refused", None, "b"),
    ]
    findings = [one["data"] for one in told if one["kind"] == "finding"]
    assert [(one["id"], one["where"]["node"]) for one in findings] == [
        ("event-refused", "a"),
        ("event-refused", "b"),
    ]
    assert (
        "end: code: 'x' is not a whole number" in findings[0]["saw"] and "no such time" in findings[1]["saw"]
    )
    assert waiting.attempt.tails == {}
    nodes = waiting.attempt.watch.run.nodes
    for node, word in (
        ("a", {"logs": 3}),
        ("a", {"event": {"at": 1e12, "kind": "beat"}}),
        ("a", {"alive": "x"}),
    ):
        nodes[node].seen_at = 5.0
        waiting._on_message(node, word)
        assert (nodes[node].seen_at or 0.0) > 5.0, "it speaks, whatever it says"
    gpus = [{"uuid": "g", "index": "none"}]
    waiting._on_message("b", {"event": {"at": 2.0, "kind": "sample", "node": "b", "data": {"gpus": gpus}}})
    assert [gpu.uuid for gpu in nodes["b"].gpus] == ["g"], "only the wrong field is left out"
