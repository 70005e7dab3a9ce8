"""What is said of a failure at once: only what the events alone prove, once an attempt, and never after the verdict."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from allranks.core import Diagnosis, Event
from allranks.monitor import Watch
from allranks.runs import keeper_provisional
from allranks.runs.keeper_provisional import AGAIN_SECONDS, LISTEN_SECONDS, FirstWord


def watched(*events: Event) -> Watch:
    watch = Watch({"world_size": 2})
    for rank, node in enumerate("ab"):
        watch.add(Event(0.0, "start", node, rank, {"pid": rank + 9, "start_time": 1}))
        watch.add(Event(1.0, "beat", node, rank, {"phase": "training", "step": 5}))
    for event in events:
        watch.add(event)
    return watch


KILLED = Event(2.0, "rank-gone", "b", 1, {"pid": 10, "code": -9})
PEER = Event(2.1, "exception", "a", 0, {"type": "RuntimeError", "message": "Connection closed by peer",
                                        "communication": True, "frames": []})  # fmt: skip
ABORT = Event(2.0, "rank-gone", "b", 1, {"pid": 10, "code": -6})
ABORTED = (
    Event(2.0, "end", "b", 1, {"code": 0}),
    Event(2.1, "rank-gone", "b", 1, {"pid": 10, "code": -6}),
    Event(2.2, "torchrun-ended", "b", None, {"code": 1, "failures": [{"rank": 1, "code": -6}]}),
)


def looked(watch: Watch, *times: float, decided: bool = False) -> list:
    said: list[Diagnosis] = []
    word = FirstWord(said.append)
    for now in times:
        word.update(watch, decided, now=now)
    return [(one.cause, one.where.node, one.where.rank) for one in said]


def test_a_death_is_named_within_a_second_and_once() -> None:
    assert LISTEN_SECONDS < 1.0
    watch = watched(PEER, KILLED)
    assert looked(watch, 50.0, 50.0 + LISTEN_SECONDS - 0.1) == []
    assert looked(watch, 50.0, 50.0 + LISTEN_SECONDS, 52.0, 53.0) == [("rank-sigkilled", "b", 1)]


@pytest.mark.parametrize(
    "events",
    [(), (PEER,), (ABORT,), ABORTED],
    ids=["healthy", "complaint", "a watchdog's, perhaps", "abort after the end"],
)
def test_what_is_not_sure_yet_waits_for_the_verdict(events: tuple) -> None:
    assert looked(watched(*events), 50.0, 51.0, 52.0, 53.0) == []


def test_a_run_that_a_finding_has_stopped_has_its_word_already() -> None:
    assert looked(watched(KILLED), 50.0, 51.0, 52.0, decided=True) == []


@pytest.mark.parametrize(
    "events, decided, named",
    [
        ((PEER, KILLED), False, ["rank-sigkilled"]),
        ((PEER, KILLED), True, []),
        ((PEER,), False, []),
        ((), False, []),
    ],
    ids=["killed", "stopped by a finding", "complaint", "healthy"],
)
def test_ranks_that_end_sooner_than_it_listens_are_named_before_the_stop(events, decided, named) -> None:
    said: list[Diagnosis] = []
    word, watch = FirstWord(said.append), watched(*events)
    word.update(watch, decided, now=50.0)
    assert said == []
    word.update(watch, decided, last=True, now=50.1)
    assert [one.cause for one in said] == named


def test_what_comes_late_is_said_when_it_comes() -> None:
    said: list[Diagnosis] = []
    word, watch = FirstWord(said.append), watched(PEER)
    word.update(watch, False, now=50.0)
    word.update(watch, False, now=51.0)
    assert said == []
    watch.add(KILLED)
    word.update(watch, False, now=52.0 + AGAIN_SECONDS)
    assert [one.cause for one in said] == ["rank-sigkilled"]


def test_a_verdict_that_takes_long_is_asked_for_seldom(monkeypatch) -> None:
    watch, looks = watched(PEER), []

    def slow(_now: float) -> None:
        looks.append(clock.now)
        clock.now += 3.0

    clock = SimpleNamespace(now=50.0, monotonic=lambda: clock.now, time=lambda: 1e9)
    monkeypatch.setattr(keeper_provisional, "time", clock)
    monkeypatch.setattr(watch, "verdict", slow)
    word = FirstWord(lambda _: None)
    while clock.now < 110.0:
        word.update(watch, False)
        clock.now += 0.1
    assert len(looks) >= 2 and 3.0 * len(looks) <= keeper_provisional.LOOK_SHARE * 60.0 + 3.0


def test_the_next_attempt_has_a_word_of_its_own() -> None:
    said: list[Diagnosis] = []
    word, watch = FirstWord(said.append), watched(KILLED)
    for now in (50.0, 51.0):
        word.update(watch, False, now=now)
    word.update(watch.again(), False, now=60.0)
    fresh = watched(KILLED)
    for now in (70.0, 71.0):
        word.update(fresh, False, now=now)
    assert len(said) == 2
