"""Runs whose steps are taken again, or counted anew: what the report and the live page make of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest

from allranks.core.events import told
from allranks.core.run_events import Restart, Resume
from allranks.output.live_page.run_record import RunRecord
from allranks.output.report_collect import Collector
from allranks.output.report_loss import LossEnds
from allranks.output.report_series import Series

Events = list[dict[str, Any]]


class Journal:
    """Events of a run under construction."""

    def __init__(self, ranks: int = 2) -> None:
        self.events: Events = []
        self.ranks, self.now = range(ranks), 1000.0

    def say(self, kind: str, rank: int | None = None, **data: Any) -> None:
        self.events.append({"at": self.now, "kind": kind, "node": "a", "rank": rank, "data": data})

    def beat(self, rank: int, phase: str, step: int, loss: float | None = None) -> None:
        rows = [] if loss is None else [[step, loss, 1.0, 0.0, 100, 1e-4]]
        self.say("beat", rank, phase=phase, step=step, total_steps=1000, steps=rows)

    def phase(self, phase: str, step: int = 0) -> None:
        for rank in self.ranks:
            self.beat(rank, phase, step)

    def train(self, steps: Iterable[int], loss: float) -> None:
        for step in steps:
            self.now += 1.0
            for rank in self.ranks:
                self.beat(rank, "training", step, loss)

    def start(self) -> None:
        for rank in self.ranks:
            self.say("start", rank, pid=int(self.now) + rank)
        self.phase("loading")

    def restart(self, resume: int | None = None) -> None:
        self.events.append(told(Restart(again=True, why="rank 1 was killed"), "a", at=self.now).as_json())
        if resume is not None:
            said = Resume(from_=f"out/checkpoint-{resume}", step=resume)
            self.events.append(told(said, "a", at=self.now).as_json())


def both(journal: Journal) -> tuple[Collector, RunRecord]:
    collector, record = Collector(), RunRecord("r")
    for event in journal.events:
        collector.add(event)
        record.add(event)
    return collector, record


def losses(collector: Collector, record: RunRecord) -> tuple[dict[int, float], dict[int, float]]:
    """The loss of each step in the report (the last step of a bin) and on the live page."""
    report = {int(point[1]): point[2] for point in collector.charts()["loss"]["points"]}
    page = {step: loss for step, loss in enumerate(record.curves.columns()["loss"]) if loss is not None}
    return report, page


@pytest.mark.parametrize("resume", [50, None])
def test_steps_after_a_restart_replace_those_before(resume: int | None) -> None:
    """Without a checkpoint that the keeper knows, the first step says where a script continues."""
    journal = Journal()
    journal.start()
    journal.train(range(1, 91), 8.0)
    journal.say("saved", 0, step=80, path="out/checkpoint-80")
    journal.restart(resume)
    journal.beat(1, "training", 91, 8.0)  # a late one of the attempt before
    journal.start()
    journal.train(range(51, 61), 2.0)
    collector, record = both(journal)
    expected = {step: 8.0 if step <= 50 else 2.0 for step in range(1, 61)}
    assert losses(collector, record) == (expected, expected)
    summary = collector.summary()
    assert (summary["first_loss"], summary["last_loss"], summary["last_step"]) == (8.0, 2.0, 60)
    assert [row["step"] for row in collector.rank_rows()] == [60, 60] and collector.marks == []
    assert record.head(0.0)["step"] == 60 and record.table.columns()["lag"] == [0, 0]
    continues = [mark["text"] for mark in record.marks if mark["kind"] == "resume"]
    assert continues == (["training continues from step 50"] if resume else [])


def test_a_restart_that_never_trains_takes_nothing_away() -> None:
    journal = Journal()
    journal.train(range(1, 31), 3.0)
    journal.restart()
    journal.beat(0, "training", 31, 3.0)
    collector, record = both(journal)
    assert collector.summary()["last_step"] == record.head(0.0)["step"] == 31
    assert len(losses(collector, record)[0]) == 31


@pytest.mark.parametrize("steps", [90, 900])
def test_a_second_training_in_one_script_replaces_the_first(steps: int) -> None:
    journal = Journal()
    journal.train(range(1, steps + 1), 8.0)
    journal.beat(0, "done", steps)
    journal.beat(0, "preparing", 0)
    journal.beat(0, "training", 1, 2.0)
    journal.beat(1, "training", steps + 1, 8.0)  # the end of the first training comes late
    journal.beat(1, "done", steps + 1)
    journal.beat(1, "preparing", 0)
    journal.beat(1, "training", 1, 2.0)
    journal.train(range(2, 11), 2.0)
    collector, record = both(journal)
    report, page = losses(collector, record)
    assert set(report.values()) == {2.0} and max(report) == 10
    assert page == dict.fromkeys(range(1, 11), 2.0)
    summary = collector.summary()
    assert (summary["first_loss"], summary["last_loss"], summary["last_step"]) == (2.0, 2.0, 10)
    assert record.head(0.0)["step"] == 10 and record.table.columns()["lag"] == [0, 0]


def test_a_rank_whose_pause_between_two_trainings_was_not_heard_is_in_the_second() -> None:
    journal = Journal()
    journal.train(range(1, 31), 8.0)
    journal.beat(0, "done", 30)
    journal.train(range(1, 11), 2.0)
    collector, record = both(journal)
    assert [row["step"] for row in collector.rank_rows()] == record.table.columns()["step"] == [10, 10]
    assert losses(collector, record)[1] == dict.fromkeys(range(1, 11), 2.0)


@pytest.mark.parametrize("phase", ["evaluating", "saving", "loading"])
def test_what_a_script_does_after_its_training_is_no_other_training(phase: str) -> None:
    journal = Journal()
    journal.train(range(1, 31), 3.0)
    journal.beat(0, "done", 30)
    journal.beat(0, phase, 30)
    journal.beat(1, "done", 31, 3.0)
    collector, record = both(journal)
    assert len(losses(collector, record)[0]) == 31 and record.head(0.0)["step"] == 31


def test_fewer_ranks_have_fewer_tokens_per_second() -> None:
    journal = Journal(8)
    journal.train(range(1, 101), 2.0)
    journal.ranks = range(4)
    journal.train(range(101, 301), 2.0)
    collector, record = both(journal)
    assert collector.summary()["tokens_per_second"] == pytest.approx((100 * 800 + 200 * 400) / 300)
    told = record.curves.columns()["tokens"]
    assert (told[50], told[100], told[101], told[300]) == (800.0, 800.0, 400.0, 400.0)


def test_the_page_is_told_of_bins_that_fewer_ranks_complete() -> None:
    """A rank is missed a minute after it fell silent: until then its tokens are expected."""
    journal, record = Journal(8), RunRecord("r")
    journal.train(range(1, 21), 2.0)
    journal.ranks = range(4)
    journal.train(range(21, 121), 2.0)
    known = record.snapshot()["curves"]["tokens"]
    for event in journal.events:
        record.add(event)
        curves = (record.delta() or {})["curves"]
        known[curves["from"] :] = curves["tokens"]
        if event["at"] == 1050.0:
            assert known[20] == known[49] == 800.0, "no dip while the others' heartbeats are awaited"
    assert known == record.curves.columns()["tokens"] and set(known[21:]) == {400.0}


# ---- the ends of the loss ----


def collected(*values: float) -> dict[str, Any]:
    journal = Journal(1)
    for step, value in enumerate(values, 1):
        journal.train([step], value)
    return both(journal)[0].summary()


def test_the_first_and_last_loss_of_a_long_run_are_those_of_its_steps() -> None:
    """They were the means of the first and the last bin of the chart."""
    found = collected(*(1.0 + 9.0 * math.exp(-step / 5) for step in range(1, 3001)), 7.0)
    assert found["first_loss"] == pytest.approx(1.0 + 9.0 * math.exp(-0.2)) and found["last_loss"] == 7.0


@pytest.mark.parametrize(
    ("values", "last", "broken_at"),
    [
        ([2.0, math.nan, 1.5], 1.5, None),
        ([2.0, 2.0, math.nan, *[2.0] * 276, *[math.nan] * 21], None, 280),
        ([*[2.0] * 2989, *[math.inf] * 11], None, 2990),
        ([math.nan] * 5, None, 1),
        ([2.0, 1e200], None, 2),
    ],
)
def test_the_step_since_which_the_loss_is_no_number(
    values: list[float], last: float | None, broken_at: int | None
) -> None:
    found = collected(*values)
    assert (found["last_loss"], found["loss_broken_at"]) == (last, broken_at)


def test_the_ends_are_the_means_of_all_ranks_in_any_order() -> None:
    ends = LossEnds()
    ends.put(1, [[2, 5.0], [3, None], [4, 1.0]])
    ends.put(0, [[1, 9.0], [2, math.nan], [3, math.nan], [4, 3.0], [5, math.nan]])
    assert (ends.first, ends.last, ends.broken_at) == (9.0, 2.0, 5)
    ends.put(1, [[1, 7.0], ["x"], [], None, [5, 4.0]])
    assert (ends.first, ends.last, ends.broken_at) == (8.0, 4.0, None)
    ends.cut(4)
    assert (ends.first, ends.last) == (8.0, None)


def test_a_series_that_is_cut_forgets_what_came_later() -> None:
    series = Series(("value",), bins=8)
    for x in range(1, 13):
        series.put(0, x, [math.nan if x == 11 else float(x)])
    series.cut(5)
    assert [tuple(point[:3]) for point in series.points(0, "value")] == [
        (1, 1, 1.0),
        (2, 3, 2.5),
        (4, 5, 4.5),
    ]
    assert series.bad([0], "value") == []
    series.cut(-1)
    series.put(0, 1, [3.0])
    assert series.points(0, "value")[0].mean == 3.0


# ---- the list of events ----


def test_three_kills_and_restarts_are_three_and_a_save_of_all_ranks_is_one() -> None:
    journal = Journal()
    for attempt in range(3):
        journal.now = 1000.0 + 100 * attempt
        for rank in journal.ranks:
            journal.say("saved", rank, step=12)
        journal.say("lost", why="closed")
        journal.say("lost", why="closed")
        journal.say("rank-gone", 1, code=-9)
        journal.say("rank-gone", 1, code=-9)
        journal.restart()
    found = both(journal)[0].story.told()["events"]
    kinds = [event["kind"] for event in found]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "saved": 3,
        "lost": 6,
        "rank-gone": 3,
        "restart": 3,
    }
