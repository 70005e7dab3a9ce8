"""Processes that are stopped (state T) where no other rank is heard: one rank alone, or all ranks at once."""

from __future__ import annotations

import pytest

from allranks.monitor import suspect
from allranks.monitor.detectors import rank_silent
from tests.monitor.told import Run

OF_MANY = [f"find who stopped it (kill -STOP, a scheduler); kill -CONT {pids}." for pids in ("7 8 9", "PID")]


class Stopped(Run):
    """A run whose supervisors send a sample each five seconds, with the states of the ranks' processes."""

    def seconds(self, first, last, state="S", frozen=(), step=None, unheard=False):
        """Seconds `first` to `last`; the ranks in `frozen` do not beat, and are sampled in `state`."""
        for at in range(first, last + 1):
            moving = step is None
            if not unheard:
                self.second(float(at), at if moving else step, moving, but=frozen)
            for node in range(len(self.ranks) // self.per_node) if at % 5 == 0 and not unheard else ():
                mine = [r for r in self.ranks if r // self.per_node == node]
                ranks = {str(r): {"state": state if r in frozen else "S", "cpu_seconds": 1.0} for r in mine}
                self.event(at + 0.2, "sample", node, ranks=ranks)
            if unheard:
                self.tick(float(at))

    def freeze(self, last, state="T", first=31):
        self.seconds(first, last, state, tuple(self.ranks), step=first - 1)


def stopped(nodes, per_node, steps=30):
    run = Stopped(nodes, per_node)
    run.seconds(31 - steps, 30)
    assert run.said == []
    return run


def test_who_has_ended_is_not_to_be_sent_on():
    run = stopped(1, 1)
    run.freeze(120)
    run.event(121.0, "stopping", 0, why="rank-silent")
    found = run.watch.verdict(122.0)
    assert found is not None and "kill -CONT 100" in found.fix
    run.event(130.0, "rank-gone", 0, 0, pid=100, code=-9)
    found = run.watch.verdict(131.0)
    assert found is not None and found.cause == "rank-silent"
    assert "find who stopped" in found.fix and "CONT" not in found.fix


@pytest.mark.parametrize(
    ("doing", "of_two"),
    [
        (
            "it waits for its data loader at /w/a.py:3 in f",
            "they wait for their data loader at /w/a.py:3 in f",
        ),
        ("it is outside any known code", "they are outside any known code"),
    ],
)
def test_several_ranks_are_they(doing, of_two):
    assert suspect._of_others(doing, 1) == f"1 other rank: {doing}"
    assert suspect._of_others(doing, 2) == f"2 other ranks: {of_two}"


@pytest.mark.parametrize("fix", [rank_silent.CAUSE.fix_of_rank.format(pid=100), *OF_MANY])
def test_the_rest_of_such_a_fix_is_a_whole_sentence(fix):
    kept = rank_silent.GOES_ON.sub("", fix)
    assert fix.startswith(kept[:-1]) and kept.endswith("scheduler).") and "CONT" not in kept


@pytest.mark.parametrize("steps", [30, 5])
def test_a_rank_that_is_alone_and_stopped_is_named_and_then_ended(steps):
    """Also in the first ten steps, in which a stillness may last a minute."""
    run = stopped(1, 1, steps)
    run.freeze(120)
    warned, ended = run.alarms()
    assert warned[1:] == ("rank-silent", "warn", "n0", 0) and 41.0 <= warned[0] <= 43.0
    assert ended[1:] == ("rank-silent", "block", "n0", 0) and 90.0 <= ended[0] <= 100.0
    found = run.said[0][1]
    assert found.saw.endswith("Its process is stopped by a signal (T).") and "kill -CONT 100" in found.fix
    assert "other rank waits" not in found.why
    verdict = run.watch.verdict(120.0)
    assert verdict is not None and (verdict.cause, verdict.where.rank) == ("rank-silent", 0)


def test_a_rank_that_is_stopped_while_it_loads_is_named():
    run = Stopped(1)
    for at in range(1, 21):
        run.second(float(at), None, False, phase="loading")
    run.freeze(40, first=21)
    assert [found[1:] for found in run.alarms()] == [("rank-silent", "warn", "n0", 0)]


@pytest.mark.parametrize("nodes", [1, 3])
def test_all_ranks_that_are_stopped_at_once_are_named_by_node(nodes):
    run = stopped(nodes, 2)
    run.freeze(120)
    names = [f"n{node}" for node in range(nodes)]
    assert [f[1:] for f in run.alarms() if f[2] == "warn"] == [
        ("rank-silent", "warn", n, None) for n in names
    ]
    assert [f[3] for f in run.alarms() if f[2] == "block"] == names
    assert all(at <= 43.0 for at, f in run.said if f.verdict == "warn")
    first = run.said[0][1]
    assert first.saw.startswith("all 2 ranks on n0 (0-1) have") and "stopped by a signal (T)" in first.saw


def test_one_stopped_rank_on_each_of_three_nodes_is_three_stopped_ranks():
    run = stopped(3, 1)
    run.freeze(45)
    assert {f[1:] for f in run.alarms()} == {("rank-silent", "warn", f"n{n}", n) for n in range(3)}


def test_a_process_that_a_debugger_holds_is_named_and_never_ended():
    run = stopped(1, 1)
    run.freeze(900, "t")
    assert run.alarms()[0][1:] == ("rank-silent", "warn", "n0", 0)
    assert "stopped by a debugger (t)" in run.said[0][1].saw
    assert not [f for f in run.alarms() if f[2] == "block"]


@pytest.mark.parametrize("state", ["S", "R", "D"])
def test_a_silence_of_all_in_which_no_process_is_stopped_proves_nothing_about_a_rank(state):
    run = stopped(1, 2)
    run.freeze(300, state)
    assert {f[1] for f in run.alarms()} == {"no-progress"}


def test_a_rank_that_goes_on_after_its_warning_trains_on():
    run = stopped(1, 1)
    run.freeze(80)
    run.seconds(81, 300)
    assert [f[2] for f in run.alarms()] == ["warn"]


def test_a_machine_that_slept_ends_nothing_though_its_ranks_wake_last():
    """An hour in which nobody is heard, then a sample before the rank has gone on."""
    run = stopped(1, 1)
    run.event(3630.0, "sample", 0, ranks={"0": {"state": "T", "cpu_seconds": 1.0}})
    run.tick(3630.0)
    run.freeze(3636, first=3631)
    run.seconds(3637, 3700)
    assert run.said == []


def test_a_supervisor_that_was_stopped_with_its_ranks_ends_nothing_as_it_goes_on():
    """The last sample before, and the first one after, show the ranks stopped; the supervisor was away between them."""
    run = stopped(2, 1)
    for at in range(31, 131):
        run.watch.heard("n0", float(at))
        if at in (31, 130):
            run.event(at + 0.0, "sample", 1, ranks={"1": {"state": "T", "cpu_seconds": 1.0}})
        run.tick(float(at))
    assert not [f for f in run.alarms() if f[2] == "block"]
