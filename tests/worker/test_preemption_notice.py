"""A notice comes at any moment on any rank: all save after the same step, and nobody waits for ever."""

from __future__ import annotations

import os
import threading
import time
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.worker import preemption_notice
from allranks.worker.preemption_notice import Notice
from tests.harness import until


class Store:
    """As much of torch's TCPStore as is used."""

    def __init__(self):
        self.values: dict[str, bytes] = {}

    def set(self, name: str, value: str) -> None:
        self.values[name] = value.encode()

    def get(self, name: str) -> bytes:
        return self.values[name]

    def compare_set(self, name: str, expected: str, wanted: str) -> bytes:
        assert expected == ""
        return self.values.setdefault(name, wanted.encode())

    def check(self, names: list[str]) -> bool:
        return all(name in self.values for name in names)


class Ranks:
    """Ranks that step together: a barrier stands for the collectives of a step."""

    def __init__(self, delays: list[float]):
        number = len(delays)
        self.barrier = threading.Barrier(number, timeout=60)
        store = Store()
        places = [SimpleNamespace(rank=rank, world_size=number, stacks=None) for rank in range(number)]
        self.notices = [Notice(SimpleNamespace(place=place, emit=lambda *_: None), store) for place in places]
        self.delays, self.saved = delays, [0] * number

    def run(self) -> list[int]:
        threads = [threading.Thread(target=self.train, args=(rank,)) for rank in range(len(self.notices))]
        timers = [threading.Timer(d, one.hear) for d, one in zip(self.delays, self.notices, strict=True)]
        for thread in [*threads, *timers]:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        return self.saved

    def train(self, rank: int) -> None:
        for step in range(1, 10_000):
            self.barrier.wait()
            time.sleep(0.0005 * rank)
            if self.notices[rank].is_due(step):
                self.saved[rank] = step
                return


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 0.03), min_size=1, max_size=5))
def test_all_ranks_save_after_the_same_step(delays):
    saved = Ranks(delays).run()

    assert len(set(saved)) == 1 and saved[0] > 0


def test_without_a_notice_nothing_is_asked_of_the_store():
    one = Notice(SimpleNamespace(place=SimpleNamespace(rank=0, world_size=2, stacks=None)), store=object())

    assert not one.is_due(1) and not one.is_due(2)


def test_a_rank_that_never_hears_costs_the_save_and_not_the_run(monkeypatch):
    monkeypatch.setattr(preemption_notice, "WAIT_SECONDS", 0.1)
    monkeypatch.setattr(preemption_notice.guard, "TROUBLE", [])
    place = SimpleNamespace(rank=0, world_size=2, stacks=None)
    one = Notice(SimpleNamespace(place=place, emit=lambda *_: None), Store())
    one.hear()

    assert [one.is_due(step) for step in (1, 2, 3)] == [False, False, False]
    assert "not all ranks heard" in preemption_notice.guard.TROUBLE[0]


def test_a_rank_that_hears_late_does_not_save_alone(monkeypatch):
    monkeypatch.setattr(preemption_notice, "WAIT_SECONDS", 0.1)
    monkeypatch.setattr(preemption_notice.guard, "TROUBLE", [])
    store = Store()
    first, late = (
        Notice(
            SimpleNamespace(
                place=SimpleNamespace(rank=rank, world_size=2, stacks=None), emit=lambda *_: None
            ),
            store,
        )
        for rank in (0, 1)
    )
    first.hear()
    assert not first.is_due(1)
    late.hear()
    assert [late.is_due(step) for step in (2, 3)] == [False, False]
    assert [first.is_due(step) for step in (2, 3)] == [False, False]


@pytest.fixture
def current():
    yield preemption_notice.CURRENT
    preemption_notice.CURRENT.clear()


def test_the_request_is_a_file_and_an_old_one_is_none(tmp_path, current, monkeypatch):
    (tmp_path / preemption_notice.REQUEST).write_text("of an earlier attempt")
    os.utime(tmp_path / preemption_notice.REQUEST, (1, 1))
    told = []
    place = SimpleNamespace(rank=0, world_size=1, stacks=str(tmp_path))
    one = Notice(SimpleNamespace(place=place, emit=lambda event: told.append(event.KIND)))
    one.watch()
    time.sleep(2 * preemption_notice.LOOK_SECONDS)
    assert told == ["can-save"] and not one.is_due(1)

    (tmp_path / preemption_notice.REQUEST).write_text("now")
    until(lambda: len(told) >= 2)
    assert told == ["can-save", "notice-heard"]
    assert not preemption_notice.leaving()
    assert one.is_due(2) and preemption_notice.leaving()


def test_many_trainings_of_one_script_have_one_thread(tmp_path, current):
    place = SimpleNamespace(rank=0, world_size=1, stacks=str(tmp_path))
    one = Notice(SimpleNamespace(place=place, emit=lambda event: None))
    before = threading.active_count()
    for _ in range(5):
        one.watch()
    assert threading.active_count() == before + 1
    (tmp_path / preemption_notice.REQUEST).write_text("now")
    until(lambda: one.heard)


def test_a_clock_that_was_set_back_hides_no_request(tmp_path, current):
    place = SimpleNamespace(rank=0, world_size=1, stacks=str(tmp_path))
    one = Notice(SimpleNamespace(place=place, emit=lambda event: None))
    (tmp_path / preemption_notice.REQUEST).write_text("now")
    os.utime(tmp_path / preemption_notice.REQUEST, (1, 1))  # by a clock that is years behind
    one.watch()
    until(lambda: one.heard)
