"""A healthy run is never ended, nor called silent or stalled, for a field that nobody can read."""

from __future__ import annotations

import json
import os

import pytest

from allranks.core import BLOCK, Event, event_from_json
from allranks.core.events import kinds
from allranks.core.payloads import Refused, plan_of
from allranks.node.ranks import Ranks
from tests.monitor.told import Run

ODD = ["x", -1.5, 2**70, float("nan"), True, [], [["x"] * 9], {"a": 1}, [{"rank": "x"}], [[1, 2]]]
BEAT = [
    "phase",
    "step",
    "total_steps",
    "steps",
    "rss_bytes",
    "gpu_bytes",
    "progress",
    "shard",
    "operator",
    "carried",
]
SECONDS = 200


def come_in(run, at, kind, rank, data):
    """As a rank's line comes to the keeper: through its supervisor, which passes on what it has checked."""
    try:
        event = event_from_json({"at": at, "kind": kind, "node": f"n{rank}", "rank": rank, "data": data})
    except Refused:
        event = Event(at, "beat", f"n{rank}", rank)
    event = event_from_json(json.loads(event.as_line()))
    run._keep(at, run.watch.add(event, received=at))


def beat_of(at, more):
    steps = [[at, 3.0 - at / 1000, 1.0, 0.0, 64, 1e-5]]
    return {"phase": "training", "step": at, "total_steps": 1000, "steps": steps, "rss_bytes": 5, **more}


def watched(odd, ranks=2, seconds=SECONDS):
    """The last rank's beats have these fields; `odd` takes the second."""
    run = Run(nodes=ranks)
    for at in range(1, seconds):
        for rank in range(ranks):
            run.watch.heard(f"n{rank}", float(at))
            more = odd(at) if rank == ranks - 1 else {}
            come_in(run, float(at), "beat", rank, beat_of(at, more))
        run.tick(float(at))
    return [one for one in run.alarms() if one[1] != "event-refused"]


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("name", BEAT)
def test_a_rank_whose_every_beat_has_a_wrong_field_is_not_called_silent(name, ranks):
    assert watched(lambda at: {name: ODD[at // 20 % len(ODD)]}, ranks) == []


def test_a_rank_of_whose_every_beat_no_field_can_be_read_is_not_called_silent():
    assert watched(lambda _: dict.fromkeys(BEAT, "x"), 1) == watched(lambda _: dict.fromkeys(BEAT, "x")) == []


def test_a_run_that_stands_still_is_seen_with_a_wrong_field_that_tells_nothing_of_it():
    run = Run(nodes=2)
    for at in range(1, 200):
        for rank in range(2):
            run.watch.heard(f"n{rank}", float(at))
            come_in(run, float(at), "beat", rank, beat_of(min(at, 60), {"gpu_bytes": f"{at} MiB"}))
        run.tick(float(at))
    assert run.alarms("no-progress", "rank-holds-up")


@pytest.mark.parametrize("name", ["phase", "step"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_run_that_stands_still_is_seen_by_the_ranks_that_can_be_read(name, ranks):
    """The last rank's phase or step cannot be read from the start on, and all stand from second 60 on."""
    run = Run(nodes=ranks)
    for at in range(1, 120):
        for rank in range(ranks):
            run.watch.heard(f"n{rank}", float(at))
            more = {name: [at]} if rank == ranks - 1 else {}
            come_in(run, float(at), "beat", rank, beat_of(min(at, 60), more))
        run.tick(float(at))
    found = run.alarms("no-progress")
    assert found and 72 <= found[0][0] <= 76
    assert not any("is at step" in finding.saw for _, finding in run.said), "nobody knows that it is behind"


TOLD = [
    (k, n)
    for k, p in kinds().items()
    if "rank" in getattr(p, "BY", "").split(" or ") and k != "beat"
    for n in plan_of(p).fields
]


@pytest.mark.parametrize(("kind", "name"), [one for one in TOLD if one[0] not in ("end", "exception")])
def test_no_wrong_field_of_a_rank_ends_a_run(kind, name):
    run = Run(nodes=3)
    for at in range(1, 60):
        for rank in range(3):
            run.watch.heard(f"n{rank}", float(at))
            come_in(run, float(at), "beat", rank, beat_of(at, {}))
        if at > 20 and at % 3 == 0:
            come_in(run, at + 0.5, kind, 2, {name: ODD[at // 3 % len(ODD)]})
        run.tick(float(at))
    assert [one for one in run.alarms() if one[2] == BLOCK] == []


@pytest.mark.parametrize(
    "text", ["no JSON", '{"at": NaN, "kind": "beat"}', '{"at": 1e13, "kind": "beat", "data": {}}']
)
def test_a_rank_of_which_no_line_can_be_read_is_not_called_silent(tmp_path, text):
    ranks, run = Ranks("n1", str(tmp_path)), Run(nodes=2)
    path = os.path.join(ranks.folder, "rank-1.jsonl")
    try:
        for at in range(1, 120):
            with open(path, "a") as file:
                file.write(text + "\n")
            for node in ("n0", "n1"):
                run.watch.heard(node, float(at))
            come_in(run, float(at), "beat", 0, beat_of(at, {}))
            for event in ranks.read():
                come_in(run, float(at), event.kind, 1, event.data)
            run.tick(float(at))
    finally:
        ranks.close()
    assert [one for one in run.alarms() if one[1] != "event-refused"] == []


@pytest.mark.parametrize("hours", [-6, 6])
@pytest.mark.parametrize("node", [0, 1])
def test_a_clock_that_is_set_by_hours_stops_nothing(node, hours):
    run = Run(nodes=2)
    step = run.train(1, 60)
    run.clocks[node] = hours * 3600.0
    step = run.train(61, 180, step)
    run.clocks[node] = 0.0
    run.train(181, 300, step)
    assert run.alarms() == [] and run.watch.run.step == 300
