"""Starts and first steps that stand still: who is asked when, and what is said of it before the long limits run out."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from allranks.core import Event, Finding
from allranks.monitor import Watch, start_patience

WAITS = [
    ["/u/train.py", 30, "<module>"],
    ["/x/site-packages/torch/distributed/distributed_c10d.py", 9, "all_reduce"],
]
READS = [
    ["/u/train.py", 28, "<module>"],
    ["/x/site-packages/torch/utils/data/dataloader.py", 700, "__next__"],
    ["/u/data.py", 7, "__getitem__"],
]
MAPS = [["/u/train.py", 12, "<module>"], ["/x/site-packages/datasets/arrow_dataset.py", 3000, "map"]]


class Run:
    """Ranks that stand still in a phase, and a keeper that asks when it is time; `answers` are the ranks' evidence."""

    def __init__(self, phase="preparing", ranks=3, step=None, **answers):
        self.watch, self.said, self.asked, self.at = Watch({"world_size": ranks}), [], [], 0.0
        self.ranks, self.phase, self.step, self.answers = range(ranks), phase, step, answers
        self.silent: tuple = ()
        for rank in self.ranks:
            self.event("supervisor", rank, None, process={"boot_id": f"b{rank}"})
            self.event("start", rank, rank, pid=100 + rank, start_time=1)

    def event(self, kind, node, rank, **data):
        self._keep(self.watch.add(Event(self.at, kind, f"n{node}", rank, data)))

    def until(self, last, **phases):
        while self.at < last:
            self.at += 1.0
            for rank in self.ranks:
                self.watch.heard(f"n{rank}", self.at)
                if rank not in self.silent:
                    phase = phases.get(f"r{rank}", self.phase)
                    self.event("beat", rank, rank, phase=phase, step=self.step)
            self._keep(self.watch.tick(self.at))
            why = start_patience.due(self.watch.run, self.at)
            if why:
                self.asked.append(self.at)
                self.ask(why=why, quiet=True)

    def ask(self, **about):
        self.event("evidence", 0, None, **about)
        for rank in self.ranks:
            self.event(
                "process",
                rank,
                rank,
                pid=100 + rank,
                state=self.answers.get("states", "SSS")[rank],
                wchan=None,
            )
            stacks = self.answers.get("stacks", [WAITS] * 3)
            if rank not in self.silent:
                self.event("stack", rank, rank, frames=stacks[rank], by="inside")
            if "flights" in self.answers:
                number, name = self.answers["flights"][rank]
                self.event(
                    "flight", rank, rank, sequence=number, operation=name, sizes=[[4]], state="started"
                )

    def _keep(self, statements):
        self.said += [(self.at, f.id, f.verdict, f.where.rank) for f in statements if isinstance(f, Finding)]
        assert not self.watch.faulty


@pytest.mark.parametrize("phase", ["preparing", "training"])
def test_another_collective_on_one_rank_is_told_and_ends_the_run_before_any_step(phase):
    run = Run(phase, flights=[(7, "all_reduce"), (7, "broadcast"), (7, "all_reduce")])
    run.until(60)
    (told,) = run.said
    assert told[1:] == ("rank-holds-up", "block", 1) and told[0] <= 20.0


@pytest.mark.parametrize("phase", ["importing", "loading", "preparing", "training", "compiling"])
def test_a_stillness_that_proves_nothing_is_looked_at_and_not_spoken_of(phase):
    cases: list[dict[str, Any]] = [
        {"flights": [(7, "all_reduce")] * 3},
        {"stacks": [MAPS, WAITS, WAITS]},  # one rank reads the data for all
        {
            "flights": [(6, "all_reduce"), (7, "all_reduce"), (7, "all_reduce")],
            "stacks": [MAPS, WAITS, WAITS],
        },
        {"states": "DSS", "stacks": [MAPS, WAITS, WAITS]},
        {"states": "tSS"},  # a debugger
        {"flights": [(7, "all_reduce"), (8, "all_reduce"), (7, "broadcast")]},
    ]
    for answers in cases:
        run = Run(phase, **answers)
        run.until(200)
        assert run.said == [], answers
        since = 0.0 if phase == "importing" else 1.0
        assert run.asked == [since + seconds for seconds in (12, 24, 48, 96, 192)]


def test_a_stopped_process_is_told_while_all_load():
    run = Run("loading", states="STS")
    run.until(20)
    run.silent = (1,)
    run.until(50)
    assert [told[1:] for told in run.said] == [("rank-holds-up", "warn", 1)]
    assert run.said[0][0] <= 30.0
    asked = len(run.asked)
    run.until(70)
    assert len(run.asked) == asked  # somebody is named: nothing more is asked in silence


def test_a_rank_that_stays_in_its_loader_is_told_in_the_first_step_at_the_second_look():
    run = Run("training", stacks=[WAITS, WAITS, READS])
    run.until(23)
    assert run.said == [] and run.asked == [13.0]
    run.until(120)
    assert [told[1:] for told in run.said] == [("rank-holds-up", "warn", 2)]
    assert 24.0 < run.said[0][0] <= 40.0


def test_a_rank_that_reads_on_or_before_the_first_step_is_left_alone():
    run = Run("training", stacks=[WAITS, WAITS, READS])
    run.until(23)
    run.answers["stacks"] = [WAITS, WAITS, [*READS[:2], ["/u/data.py", 70, "decode"]]]
    run.until(45)
    assert run.said == []
    run = Run("preparing", stacks=[WAITS, WAITS, READS])
    run.until(500)
    assert run.said == []


def test_the_long_limit_ends_with_a_word_and_a_question_of_its_own():
    run = Run("training", stacks=[WAITS, MAPS, WAITS])
    run.until(602)
    assert [told[1:3] for told in run.said] == [("no-progress", "warn")]
    assert start_patience.due_again(run.watch.run, run.at)
    run.ask(why="no-progress")
    assert not start_patience.due_again(run.watch.run, run.at + 30.0) and start_patience.due_again(
        run.watch.run, run.at + 60.0
    )
    run.until(620)
    assert [told[1:] for told in run.said[1:]] == [("rank-holds-up", "warn", 1)]
    asked = len(run.asked)
    run.until(1500)
    assert len(run.asked) == asked


def test_a_loading_that_moves_now_and_then_is_not_asked_at_every_stop():
    run = Run("loading")
    for part in range(30):
        run.until(run.at + 20)
        for rank in run.ranks:
            run.event("beat", rank, rank, phase="loading", shard=part, shards=30)
    assert len(run.asked) <= 10
    assert all(later - sooner >= 60.0 for sooner, later in pairwise(run.asked))


def test_training_that_stands_still_and_a_rank_alone_are_not_asked_in_silence():
    run = Run("training", ranks=1)
    run.until(100)
    assert run.asked == []
    run = Run("training")
    for step in range(1, 30):
        run.step = step
        for rank in run.ranks:
            run.event(
                "beat", rank, rank, phase="training", step=step, steps=[[step, 3.0, 30.0, 0.0, 1, 1e-5]]
            )
        run.until(run.at + 30)
    before = len(run.asked)
    run.until(run.at + 100)
    assert before <= 3 and len(run.asked) == before  # those of the first three steps


def steady(seconds: float, **answers: Any) -> Run:
    """A training of a step a second that stands still from its 30th second on, and a keeper that asks at a stall."""
    run = Run("training", **answers)
    told = 0
    while run.at < seconds:
        if run.at < 30:
            run.step = int(run.at)
            for rank in run.ranks:
                run.event(
                    "beat",
                    rank,
                    rank,
                    phase="training",
                    step=run.step,
                    steps=[[run.step, 3.0, 1.0, 0.0, 1, 0.1]],
                )
        run.until(run.at + 1.0)
        for _, id, _, _ in run.said[told:]:
            if id in ("no-progress", "rank-silent") and start_patience.due_again(run.watch.run, run.at):
                if start_patience.is_fresh(run.watch.run, run.at):
                    run.event("evidence", 0, None, why=id, stands=True)
                else:
                    run.ask(why=id)
        told = len(run.said)
    return run


def test_the_name_comes_with_the_stall():
    run = steady(60, stacks=[WAITS, READS, WAITS])
    assert [said[1:] for said in run.said] == [("rank-holds-up", "warn", 1)]
    assert len(run.asked) == 1 and run.asked[0] < run.said[0][0] <= 30.0 + 14.0


def test_a_training_that_moves_again_after_the_look_is_not_spoken_of():
    run = steady(40.5, stacks=[WAITS, READS, WAITS])
    assert len(run.asked) == 1
    for step in range(30, 60):
        for rank in run.ranks:
            run.event("beat", rank, rank, phase="training", step=step, steps=[[step, 3.0, 1.0, 0.0, 1, 0.1]])
        run.step = step
        run.until(run.at + 1.0)
    assert run.said == [] and len(run.asked) == 1
