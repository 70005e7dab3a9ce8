"""How long a run's silence may be: pauses that it has lived through, compilers, the work after the last step."""

from __future__ import annotations

from pathlib import Path

import pytest

from allranks.core import Event, Finding
from allranks.monitor import Watch, hang_thresholds, progress


class Run:
    """So many ranks, one a node, told second by second."""

    def __init__(self, ranks=3, **expect):
        self.watch = Watch({"world_size": ranks, **expect})
        self.ranks, self.said, self.at = range(ranks), [], 0.0
        for rank in self.ranks:
            self.event("supervisor", rank, None, process={"boot_id": f"b{rank}"})
            self.event("start", rank, rank, pid=100 + rank, start_time=1)

    def event(self, kind, node, rank, **data):
        self._keep(self.watch.add(Event(self.at, kind, f"n{node}", rank, data)))

    def second(self, step, took=1.0, moved=True, **phases):
        """All ranks beat once; `phases` names the phase of `r0`, `r1`, … where it is not training."""
        self.at += 1.0
        for rank in self.ranks:
            phase = phases.get(f"r{rank}", phases.get("phase", "training"))
            steps = [[step, 3.0, took, 0.0, 1, 1e-5]] if moved else []
            self.watch.heard(f"n{rank}", self.at)
            if phase != "gone":
                self.event("beat", rank, rank, phase=phase, step=step, steps=steps)
        self._keep(self.watch.tick(self.at))

    def steps(self, first, last):
        for step in range(first, last + 1):
            self.second(step)

    def stands(self, step, seconds, **phases):
        for _ in range(seconds):
            self.second(step, moved=False, **phases)

    def _keep(self, statements):
        self.said += [(self.at, f.id) for f in statements if isinstance(f, Finding)]
        assert not self.watch.faulty


def test_a_pause_that_came_before_is_no_alarm_however_long_ago() -> None:
    run, step = Run(), 0
    for _ in range(3):
        run.steps(step + 1, step + 320)
        step += 320
        run.stands(step, 20)
    assert [at for at, _ in run.said] == [333.0]  # the first one alone


def test_a_single_long_pause_is_no_licence_for_a_longer_one() -> None:
    """Ten minutes once may be an outage that passed: the next hang is told after a minute and a half."""
    run = Run()
    run.steps(1, 50)
    run.stands(50, 600)
    run.steps(51, 400)
    assert hang_thresholds.allowed_silence(run.watch.run) == 90.0
    run.stands(400, 650)  # it comes again: then it is the run's own
    run.steps(401, 450)
    assert hang_thresholds.allowed_silence(run.watch.run) == 600.0


@pytest.mark.parametrize(("taken", "allowed"), [(1, 600.0), (4, 600.0), (5, 60.0), (9, 60.0), (10, 12.5)])
def test_the_first_five_steps_have_ten_minutes_as_the_page_says(taken, allowed) -> None:
    run = Run()
    run.steps(1, taken)
    assert hang_thresholds.allowed_silence(run.watch.run) == allowed
    page = (Path(__file__).parents[2] / "docs" / "runs.md").read_text()
    assert "| the first five steps | 10 min |" in page and "| up to the tenth step | 1 min," in page


def test_a_pause_whose_culprit_was_named_is_no_pace() -> None:
    run = Run()
    run.steps(1, 50)
    run.event("evidence", 0, None, why="no-progress")
    waits = [["/u/train.py", 30, "<module>"], ["/x/site-packages/torch/distributed/c10d.py", 9, "all_reduce"]]
    for rank in run.ranks:
        run.event(
            "stack", rank, rank, frames=waits if rank != 1 else [["/u/data.py", 7, "read"]], by="inside"
        )
    run.stands(50, 30)
    assert "rank-holds-up" in {name for _, name in run.said}
    run.steps(51, 60)
    assert hang_thresholds.allowed_silence(run.watch.run) == hang_thresholds.LEAST_SECONDS


def test_a_rank_that_compiles_in_the_middle_of_training_keeps_no_alarm() -> None:
    run = Run()
    run.steps(1, 100)
    run.stands(100, 300, r1="compiling")
    run.steps(101, 200)
    assert run.said == []
    # A compiler's time is no pace of the steps.
    assert hang_thresholds.allowed_silence(run.watch.run) == hang_thresholds.LEAST_SECONDS
    run.stands(200, 2000, r1="compiling")
    assert [name for _, name in run.said] == ["no-progress"]


def test_compiling_is_a_phase_that_is_shown() -> None:
    events = [
        Event(1.0, "beat", "n", 0, {"phase": "compiling"}),
        Event(1.0, "beat", "n", 1, {"phase": "training"}),
    ]
    assert progress(events).phase == "compiling"


def test_a_step_without_end_does_not_spoil_the_pace() -> None:
    run = Run()
    run.steps(1, 20)
    run.second(21, took=float("inf"))
    run.steps(22, 40)
    assert hang_thresholds.allowed_silence(run.watch.run) == hang_thresholds.LEAST_SECONDS


def test_work_after_the_last_step_is_no_stall() -> None:
    run = Run(steps=50)
    run.steps(1, 50)
    run.stands(50, 900)
    assert run.said == []
    run.stands(50, 1000)
    assert [name for _, name in run.said] == ["no-progress"]


def test_a_rank_behind_at_the_last_step_is_a_stall() -> None:
    run = Run(steps=50)
    run.steps(1, 49)
    run.event("beat", 0, 0, phase="training", step=50)
    run.at -= 1.0
    for _ in range(40):
        run.at += 1.0
        for rank in run.ranks:
            run.watch.heard(f"n{rank}", run.at)
            run.event("beat", rank, rank, phase="training", step=50 if rank == 0 else 49)
        run._keep(run.watch.tick(run.at))
    assert "no-progress" in {name for _, name in run.said}


def test_one_rank_that_works_on_when_the_others_have_left_is_no_stall() -> None:
    run = Run()
    run.steps(1, 50)
    for rank in (1, 2):
        run.event("beat", rank, rank, phase="done", step=50)
        run.event("end", rank, rank, code=0)
    run.stands(50, 300, r1="gone", r2="gone")
    assert run.said == []


def test_a_rank_that_works_on_after_a_last_evaluation_is_no_stall() -> None:
    """Nothing tells that the evaluation is over: the rank reads no batch to train on and joins no collective."""
    run = Run()
    run.steps(1, 20)
    run.stands(20, 5, phase="evaluating")
    run.steps(21, 50)
    run.stands(50, 5, phase="evaluating")
    for rank in (0, 1):
        run.event("end", rank, rank, code=0)
    run.stands(50, 300, r0="gone", r1="gone", r2="evaluating")
    assert run.said == []


def test_a_process_seen_stopped_while_it_loads_is_called_silent_as_soon_as_in_training() -> None:
    """Without the node's word a rank that loads may hold the interpreter's lock for a minute."""
    for state, soon in (("T", True), ("S", False)):
        run = Run()
        for second in range(1, 60):
            last = "gone" if second > 10 else "loading"
            if second % 5 == 0:
                run.event("sample", 1, None, ranks={"1": {"state": state}})
            run.second(None, moved=False, phase="loading", r1=last)
        assert [name for _, name in run.said] == (["rank-silent"] if soon else [])
        assert all(at <= 27.0 for at, _ in run.said)


def test_a_first_step_may_hold_the_lock_as_loading_may() -> None:
    run = Run()
    run.stands(None, 10)
    run.stands(None, 40, r1="gone")
    assert run.said == []


def test_a_second_training_in_one_process_counts_from_one_again() -> None:
    """Fine-tuning, then preferences: the second Trainer's first step is lower than the first one's last."""
    run = Run()
    run.steps(1, 100)
    run.stands(100, 3, phase="done")
    run.steps(1, 60)
    assert run.said == []
    run.stands(60, 30)
    assert [name for _, name in run.said] == ["no-progress"]


def test_steps_of_two_kinds_allow_three_of_the_longest_and_no_more() -> None:
    """A rollout, then an update on it: the spread of both together would allow days."""
    run = Run()
    for step in range(1, 61):
        run.second(step, took=10.0 if step % 2 else 0.5)
    assert hang_thresholds.allowed_silence(run.watch.run) == pytest.approx(30.0)
    run.stands(60, 40)
    assert [name for _, name in run.said] == ["no-progress"]


WAITS = [["/u/train.py", 30, "<module>"], ["/x/site-packages/torch/distributed/c10d.py", 9, "all_reduce"]]
UPLOADS = [["/u/train.py", 44, "<module>"], ["/u/hub.py", 7, "upload"]]


def pauses_for(run, step, state, seconds=40):
    """A pause in which rank 1 is named: in its own code, or with its process stopped."""
    run.stands(step, 14)
    run.event("evidence", 0, None, why="no-progress")
    for rank in run.ranks:
        run.event("stack", rank, rank, frames=WAITS if rank != 1 else UPLOADS, by="inside")
        run.event("process", rank, rank, pid=100 + rank, state=state if rank == 1 else "S", wchan=None)
    run.stands(step, seconds - 14)


@pytest.mark.parametrize(("state", "allowed"), [("S", 60.0), ("T", hang_thresholds.LEAST_SECONDS)])
def test_a_pause_that_comes_again_is_a_pace_though_somebody_was_named_but_no_fault_is(state, allowed) -> None:
    """A rank uploads now and then: told twice, then known. A process that was stopped twice is not."""
    run = Run()
    run.steps(1, 50)
    pauses_for(run, 50, state)
    run.steps(51, 150)
    assert hang_thresholds.allowed_silence(run.watch.run) == hang_thresholds.LEAST_SECONDS, (
        "once may be a fault that passed"
    )
    pauses_for(run, 150, state)
    run.steps(151, 350)
    assert {"no-progress", "rank-holds-up"} <= {name for _, name in run.said}
    assert hang_thresholds.allowed_silence(run.watch.run) == pytest.approx(allowed, abs=2.0)
    told = len(run.said)
    run.stands(350, 40)
    assert (len(run.said) > told) == (state == "T")


@pytest.mark.parametrize("phase", ["evaluating", "saving"])
def test_what_ends_the_training_may_take_longer_than_what_was_between_its_steps(phase) -> None:
    """The whole test set, the whole model: earlier ones took five seconds."""
    run = Run(steps=50)
    run.steps(1, 25)
    run.stands(25, 5, phase=phase)
    run.steps(26, 50)
    run.stands(50, 600, phase=phase)
    assert run.said == []
    run.stands(50, 400, phase=phase)
    assert [name for _, name in run.said] == ["no-progress"]


def test_a_phase_that_the_watcher_was_away_in_took_what_it_was_heard_and_half_an_hour_at_most() -> None:
    """The head's clock is set ahead by a day during an evaluation of ten seconds: the next one may not take days."""
    run = Run()
    run.steps(1, 30)
    run.stands(30, 5, phase="evaluating")
    run.at += 86400.0
    run.stands(30, 5, phase="evaluating")
    run.steps(31, 40)
    assert 10.0 <= run.watch.run.longest["evaluating"] <= 1815.0


def test_a_long_evaluation_that_was_watched_counts_whole() -> None:
    run = Run()
    run.steps(1, 30)
    run.stands(30, 2400, phase="evaluating")
    run.steps(31, 40)
    assert run.watch.run.longest["evaluating"] == pytest.approx(2400.0, abs=2.0)
