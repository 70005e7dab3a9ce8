"""No false alarm in healthy runs with noise; true ones in time and about the right rank."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from allranks.core import WARN, Event
from allranks.launch import jobs
from allranks.monitor import Watch


def alarms(events, until=None, expect=None):
    """(time, finding) of everything said that is a warning or worse; the clock ticks on after the last event."""
    watch, said, now = Watch(expect), [], 0.0
    for event in events:
        while now + 1.0 <= event.at:
            now += 1.0
            said += [(now, f) for f in watch.tick(now)]
        said += [(event.at, f) for f in watch.add(event)]
    while until is not None and now + 1.0 <= until:
        now += 1.0
        said += [(now, f) for f in watch.tick(now)]
    assert not watch.faulty
    return [(at, f) for at, f in said if f.verdict not in ("ok", "note")]


def noisy(simulated, seed):
    """A healthy run of any pace: slow and fast steps, wide spread, late beats, long saves and evaluations."""
    pick = random.Random(seed)
    step = pick.choice([0.2, 1.0, 4.0, 12.0])
    return simulated.Shape(
        nodes=pick.choice([1, 3]),
        per_node=pick.choice([1, 2]),
        seconds=240.0,
        step_seconds=step,
        noise=pick.choice([0.05, 0.2, 0.4]),
        late=pick.choice([0.3, 1.5, 4.0]),
        load_seconds=pick.choice([5.0, 40.0]),
        first_step=pick.choice([2.0, 10.0]),
        evaluate_every=pick.choice([0, 15]),
        evaluate_seconds=pick.choice([3.0, 30.0]),
        save_every=pick.choice([0, 20]),
        save_seconds=pick.choice([1.0, 25.0]),
        data_share=pick.choice([0.0, 0.03, 0.2]),
        seed=seed,
    )


@pytest.mark.parametrize("seed", range(12))
def test_no_alarm_in_a_healthy_run(simulated, seed):
    assert alarms(simulated.events(noisy(simulated, seed))) == []


@pytest.mark.parametrize("seed", range(4))
def test_no_alarm_in_a_healthy_run_of_thousands_whose_ranks_beat_more_rarely(simulated, seed):
    shape = replace(noisy(simulated, seed), beat=jobs.beat_seconds(8000))
    assert shape.beat == 2.0 and jobs.beat_seconds(jobs.MANY_RANKS - 1) == 1.0
    assert alarms(simulated.events(shape)) == []


@pytest.mark.parametrize("beat", [1.0, 2.0])
@pytest.mark.parametrize("step", [0.2, 1.0, 6.0])
def test_frozen_rank_is_named_in_time(simulated, step, beat):
    fault = simulated.Fault("freeze", 150.0, rank=2)
    shape = simulated.Shape(
        nodes=3, per_node=2, seconds=260.0, step_seconds=step, faults=[fault], evaluate_every=0, beat=beat
    )
    found = alarms(simulated.events(shape))
    at, finding = found[0]
    assert (finding.id, finding.where.rank, finding.where.node) == ("rank-silent", 2, "node-1")
    assert at - fault.at <= max(15.0, 5.0 * step)
    assert {f.where.rank for _, f in found if f.id in ("rank-silent", "no-progress")} == {2}
    assert "block" in {f.verdict for _, f in found}


def test_silent_node_is_told_from_silent_ranks(simulated):
    """Power off: no FIN arrives, TCP sees it after half a minute; all ranks of the node fall silent at once."""
    faults = [simulated.Fault("power", 100.0, rank=rank) for rank in (2, 3)]
    shape = simulated.Shape(nodes=3, per_node=2, seconds=115.0, faults=faults, evaluate_every=0, save_every=0)
    found = alarms(simulated.events(shape))
    assert [(f.id, f.where.node, f.where.rank) for _, f in found] == [("node-lost", "node-1", None)]
    assert found[0][0] - 100.0 <= 15.0


def test_silent_node_of_one_rank_is_no_frozen_rank(simulated):
    """Its supervisor is not heard either."""
    for kind, expected in (("power", ("node-lost", None)), ("freeze", ("rank-silent", 1))):
        faults = [simulated.Fault(kind, 100.0, rank=1)]
        shape = simulated.Shape(nodes=3, seconds=115.0, faults=faults, evaluate_every=0, save_every=0)
        found = alarms(simulated.events(shape))
        assert (found[0][1].id, found[0][1].where.rank) == expected and found[0][1].where.node == "node-1"
        assert found[0][0] - 100.0 <= 15.0


@pytest.mark.parametrize("beat", [1.0, 2.0])
@pytest.mark.parametrize("step", [0.2, 1.0, 6.0])
def test_hang_without_a_culprit_is_seen_in_time_and_blames_nobody(simulated, step, beat):
    fault = simulated.Fault("hang", 150.0)
    shape = simulated.Shape(
        nodes=3, seconds=200.0, step_seconds=step, faults=[fault], evaluate_every=0, save_every=0, beat=beat
    )
    found = alarms(simulated.events(shape))
    assert [f.id for _, f in found] == ["no-progress"]
    assert found[0][0] - fault.at <= max(15.0, 5.0 * step)
    assert found[0][1].where.rank is None and found[0][1].verdict == WARN


def test_straggler_is_named(simulated):
    fault = simulated.Fault("slow", 100.0, rank=3, seconds=0.4)
    shape = simulated.Shape(
        nodes=2, per_node=2, seconds=300.0, faults=[fault], evaluate_every=0, save_every=0
    )
    found = alarms(simulated.events(shape))
    assert {(f.id, f.where.rank) for _, f in found} == {("straggler", 3)}


def test_frozen_while_saving(simulated):
    """The steps say nothing then, the beats do."""
    shape = simulated.Shape(nodes=3, seconds=120.0, save_every=40, save_seconds=20.0, evaluate_every=0)
    line = simulated.Timeline(shape)
    at = next(at for at, phase in line.phases if phase == "saving") + 2.0
    shape.faults.append(simulated.Fault("freeze", at, rank=1))
    found = alarms(simulated.events(shape))
    assert (found[0][1].id, found[0][1].where.rank) == ("rank-silent", 1) and found[0][0] - at <= 15.0


def test_suspended_watcher_raises_no_alarm(simulated):
    """The keeper's machine sleeps for five minutes: what it has not heard proves nothing."""
    events = list(simulated.events(simulated.Shape(nodes=3, seconds=60.0, evaluate_every=0, save_every=0)))
    watch, said = Watch(), []
    for event in events:
        said += [*watch.tick(event.at), *watch.add(event)]
    for second in range(360, 372):
        said += watch.tick(float(second))
    assert said == []


def test_frozen_rank_of_a_run_that_fails_is_no_second_alarm(simulated):
    shape = simulated.Shape(
        nodes=3, seconds=100.0, faults=[simulated.Fault("freeze", 60.0, rank=1)], evaluate_every=0
    )
    events = [e for e in simulated.events(shape) if e.at < 62.0]
    watch = Watch()
    for event in events:
        watch.add(event)
    watch.add(type(events[0])(62.0, "exception", "node-0", 0, {"type": "RuntimeError", "message": "x"}))
    assert [f for second in range(63, 120) for f in watch.tick(float(second))] == []


def test_a_node_without_power_is_named_while_its_ranks_still_import() -> None:
    watch = Watch({"world_size": 2})
    for name in "ab":
        watch.add(Event(0.0, "joined", name))
    watch.add(Event(0.5, "start", "b", 1, {"pid": 9, "start_time": 1}))
    said = []
    for second in range(1, 16):
        watch.heard("a", float(second))
        if second < 3:
            watch.heard("b", float(second))
        said += [(second, f.id, f.where.node) for f in watch.tick(float(second))]
    assert [(name, node) for _, name, node in said] == [("node-lost", "b")]
    assert said[0][0] <= 14


def test_a_node_that_is_often_late_is_given_longer() -> None:
    watch = Watch({"world_size": 2})
    for name in "ab":
        watch.add(Event(0.0, "joined", name))
    for second in range(1, 60):
        watch.heard("a", float(second))
        if second % 5 == 0:
            watch.heard("b", float(second))
        assert watch.tick(float(second)) == []
