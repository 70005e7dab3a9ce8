"""Runs told second by second: stalls that pass and come again, clocks that are set."""

from __future__ import annotations

from itertools import pairwise

import pytest

from allranks.core import Event
from tests.monitor.told import Run

# ---- a stall that passed, and the next one ----


def test_a_hang_soon_after_a_stall_that_passed_is_told() -> None:
    run = Run()
    step = run.train(1, 100)
    run.train(101, 120, step, moved=False)
    step = run.train(121, 220, step)
    run.train(221, 900, step, moved=False)
    found = [(at, name) for at, name, *_ in run.alarms()]
    assert [name for _, name in found] == ["no-progress", "no-progress"]
    # The pause of 20 s that passed may be the run's own pace (`pauses`): the next may take half as long again.
    assert found[0][0] <= 115.0 and 221.0 < found[1][0] <= 255.0
    first, second = (f.saw for _, f in run.said)
    assert "(number 2 in this run)" in second and "number" not in first


def test_stalls_in_quick_succession_are_folded_but_the_last_is_told() -> None:
    run, step, at = Run(), 0, 0
    step, at = run.train(1, 60), 60
    for _ in range(4):
        run.train(at + 1, at + 16, step, moved=False)
        step = run.train(at + 17, at + 20, step)
        at += 20
    run.train(at + 1, at + 200, step, moved=False)
    times = [when for when, *_ in run.alarms("no-progress")]
    assert all(later - sooner > 60.0 for sooner, later in pairwise(times))
    assert times[-1] > at


def test_a_stall_that_lasts_is_told_once() -> None:
    run = Run()
    run.train(61, 1800, run.train(1, 60), moved=False)
    assert [name for _, name, *_ in run.alarms()] == ["no-progress"]


@pytest.mark.parametrize(("name", "gone"), [("rank-silent", {"but": (1,)}), ("node-lost", {"dark": (1,)})])
def test_what_falls_silent_a_second_time_is_told_a_second_time(name, gone) -> None:
    run = Run()
    step = run.train(1, 100)
    run.train(101, 125, step, moved=False, **gone)
    step = run.train(126, 200, step)
    run.train(201, 290, step, moved=False, **gone)
    found = [(at, node) for at, _, verdict, node, _ in run.alarms(name) if verdict == "warn"]
    assert [node for _, node in found] == ["n1", "n1"] and found[0][0] < 126.0 and found[1][0] > 200.0


# ---- clocks that are set ----


@pytest.mark.parametrize("nodes", [1, 2, 3])
@pytest.mark.parametrize("ahead", [-90.0, 120.0])
def test_a_nodes_clock_that_is_set_alarms_nobody(nodes, ahead) -> None:
    """chrony's makestep, a virtual machine that resumes; and back again, as one that was ahead is put right."""
    run = Run(nodes, steps=1000)
    node = nodes - 1
    step = run.train(1, 60)
    run.clocks[node] = ahead
    step = run.train(61, 200, step)
    run.clocks[node] = 0.0
    run.train(201, 400, step)
    assert run.said == []


@pytest.mark.parametrize("jump", [-90.0, 90.0])
def test_the_heads_own_clock_that_is_set_alarms_nobody_and_blinds_for_seconds_only(jump) -> None:
    run = Run(2)
    step = run.train(1, 100)
    for node in (0, 1):
        run.clocks[node] = -jump  # theirs go on as they did
    step = run.train(101 + int(jump), 200 + int(jump), step)
    assert run.said == []
    at = 201 + int(jump)
    run.train(at, at + 60, step, moved=False, but=(1,))
    first = run.alarms()[0]
    assert (first[1], first[4]) == ("rank-silent", 1) and first[0] - at <= 15.0


@pytest.mark.parametrize(("gone", "names"), [((), {"no-progress"}), ((1,), {"no-progress", "rank-silent"})])
def test_a_stall_after_the_heads_clock_was_set_back_is_told_though_one_was_before(gone, names) -> None:
    run = Run(2)
    step = run.train(1, 60)
    run.train(61, 80, step, moved=False, but=gone)
    step = run.train(81, 200, step)
    assert {name for _, name, *_ in run.alarms()} == names
    run.said.clear()
    step = run.train(201 - 3600, 280 - 3600, step)
    run.train(281 - 3600, 400 - 3600, step, moved=False, but=gone)
    assert {name for _, name, verdict, *_ in run.alarms() if verdict == "warn"} == names


def test_a_look_each_few_seconds_goes_on_when_the_clock_was_set_back() -> None:
    """A disk or a memory that is full after that is told."""
    run = Run(2)
    step = run.train(1, 60)
    run.train(61 - 3600, 100 - 3600, step)
    disk = {"path": "/out", "free_bytes": 1 << 20, "total_bytes": 500 << 30, "free_inodes": 10**6}
    run.event(
        100.5 - 3600, "sample", 0, disks=[disk], memory_total_bytes=64 << 30, memory_available_bytes=1 << 30
    )
    run.train(101 - 3600, 140 - 3600, step + 40)
    assert {name for _, name, *_ in run.alarms()} == {"disk-filling", "memory-climbing"}


def test_a_clock_that_was_set_is_known_again_after_half_a_minute() -> None:
    run = Run(2)
    step = run.train(1, 60)
    run.clocks[1] = -90.0
    run.train(61, 100, step)
    run.event(101.0, "exception", 1, 1, type="KeyError", message="x")
    assert run.watch.run.ranks[1].exceptions[0].at == pytest.approx(101.0, abs=0.1)


def test_what_comes_late_after_an_outage_keeps_its_own_times() -> None:
    """A minute without a link: nothing is heard, so nothing says that the clock was set."""
    run = Run(2)
    run.train(1, 60)
    event = Event(70.0, "exception", "n1", 1, {"type": "KeyError", "message": "x"})
    run.watch.add(event, received=130.0)
    assert run.watch.run.ranks[1].exceptions[0].at == pytest.approx(70.0, abs=0.1)


# ---- how late the living may be ----


def test_a_hiccup_is_forgotten() -> None:
    """A minute without beats, half an hour ago; then the rank is stopped."""
    run = Run()
    step = run.train(1, 100)
    run.train(101, 160, step, moved=False, but=(1,))
    step = run.train(161, 1960, step)
    run.said.clear()
    run.train(1961, 2000, step, moved=False, but=(1,))
    first = run.alarms()[0]
    assert (first[1], first[4]) == ("rank-silent", 1) and first[0] - 1960 <= 15.0


def test_a_nodes_hiccup_is_forgotten() -> None:
    run = Run()
    step = run.train(1, 100)
    run.train(101, 106, step, moved=False, dark=(1,))
    step = run.train(107, 1907, step)
    assert run.said == []
    run.train(1908, 1940, step, moved=False, dark=(1,))
    first = run.alarms()[0]
    assert (first[1], first[3]) == ("node-lost", "n1") and first[0] - 1907 <= 15.0


@pytest.mark.lengthy
def test_beats_that_come_late_every_twenty_minutes_alarm_once_at_most() -> None:
    run, step = Run(), 0
    for begin in range(0, 3600, 1200):
        step = run.train(begin + 1, begin + 1186, step)
        for second in range(
            begin + 1187, begin + 1201
        ):  # a call that holds Python's lock; the others step on
            step += 1
            run.second(float(second), step, but=(1,))
    assert [name for _, name, *_ in run.alarms()] == ["rank-silent"]


def test_what_the_watcher_missed_makes_nobody_late() -> None:
    """The keeper's disk holds it up for half a minute: all that was said meanwhile comes at once."""
    run = Run()
    step = run.train(1, 100)
    step = run.train(131, 200, step + 30)
    assert run.said == [] and run.watch.run.beat_gap < 2.0 and run.watch.run.node_gap < 2.0


# ---- a node that is silent while its machine lives ----


def test_a_container_that_is_paused_is_told_though_its_machine_answers() -> None:
    """Three nodes of one boot: the third one's processes are frozen, its connection stays."""
    run = Run()
    for node in range(3):
        run.event(0.2, "supervisor", node, process={"boot_id": "one"})
    step = run.train(1, 60)
    for second in range(61, 200):
        run.second(float(second), step, moved=False, dark=(2,))
    ((at, name, verdict, node, _),) = run.alarms()
    assert (name, verdict, node) == ("node-lost", "warn", "n2") and at <= 75.0


# ---- a rank that does not beat and works ----


def silent_from(second, phase, state, used, until=140):
    """Two nodes of two ranks; rank 0 does not beat after `second`, and its CPU seconds are `used(at)`."""
    run = Run(2, 2)
    step = run.train(1, second - 1)
    run.event(second - 0.9, "sample", 0, ranks={"0": {"state": "R", "cpu_seconds": used(second)}})
    run.second(float(second), step, False, phase=phase)
    for at in range(second + 1, until):
        run.second(float(at), step, False, phase=phase, but=(0,))
        if at % 5 == 0:
            ranks = {"0": {"state": state, "cpu_seconds": used(at)}, "1": {"state": "S", "cpu_seconds": 9.0}}
            run.event(at + 0.1, "sample", 0, ranks=ranks)
    return [(at, f.verdict, f) for at, f in run.said if f.id == "rank-silent"]


@pytest.mark.parametrize("phase", ["training", "evaluating", "saving"])
@pytest.mark.parametrize("state", ["R", "S"])
def test_a_rank_that_computes_in_one_call_is_told_and_not_stopped(phase, state) -> None:
    """A metric, json.dumps, a regular expression: the beat's thread does not get Python's lock."""
    ((at, verdict, finding),) = silent_from(51, phase, state, lambda at: 100.0 + at)
    assert (verdict, finding.where.rank) == ("warn", 0) and at <= 51 + 15
    assert "It uses the CPU." in finding.saw and "frozen" not in finding.why
    assert "in state" not in finding.saw and "lock" in finding.why


@pytest.mark.parametrize(
    ("state", "used"),
    [
        ("T", lambda at: 100.0),
        ("S", lambda at: 100.0 + 0.01 * at),  # only the threads that wake now and then
        ("D", lambda at: 100.0 + at),  # a page of a dead mount; other threads spin in a collective
    ],
)
def test_a_rank_that_computes_nothing_is_stopped_after_a_minute(state, used) -> None:
    (_, first, warned), (at, second, _) = silent_from(51, "evaluating", state, used)
    assert (first, second) == ("warn", "block") and 51 + 60 < at <= 51 + 63
    assert "uses the CPU" not in warned.saw and "frozen" in warned.why


def test_a_rank_that_computed_and_then_froze_is_stopped_a_minute_after_that() -> None:
    said = silent_from(51, "evaluating", "S", lambda at: 100.0 + min(at, 100), until=180)
    assert [verdict for _, verdict, _ in said] == ["warn", "block"] and 160 <= said[1][0] <= 163


def test_what_it_used_before_its_last_beat_is_no_sign_of_life() -> None:
    said = silent_from(52, "evaluating", "S", lambda at: 100.0 + 50.0 * (at > 52), until=120)
    assert [verdict for _, verdict, _ in said] == ["warn", "block"] and said[1][0] == 52 + 61


# ---- a node whose ranks all fall silent ----


@pytest.mark.parametrize("phase", ["training", "evaluating", "saving"])
@pytest.mark.parametrize(("nodes", "per_node"), [(2, 2), (2, 4), (4, 2)])
def test_a_node_whose_ranks_all_freeze_is_named_and_stops_the_run_as_one_rank_does(
    phase, nodes, per_node
) -> None:
    run = Run(nodes, per_node)
    step = run.train(1, 50)
    frozen = tuple(run.ranks)[-per_node:]
    run.second(51.0, step, False, phase=phase)
    for rank in frozen[1:]:  # they do not beat at the same moment
        run.beat(52.2, rank, step, False, phase=phase)
    for at in range(52, 140):
        run.second(float(at), step, False, phase=phase, but=frozen)
    name = f"n{nodes - 1}"
    (first, _, warn, *where), (second, _, block, *same) = run.alarms("rank-silent")
    assert (warn, where, block, same) == ("warn", [name, None], "block", [name, None])
    assert first <= 52 + 15 and second <= 52 + 63


def test_a_node_whose_line_is_late_has_no_frozen_ranks() -> None:
    """Neither its beats nor its supervisor's words come: that is judged as a node, with a node's patience."""
    run = Run(2, 2)
    step = run.train(1, 60)
    run.train(61, 62, step, False, phase="evaluating")
    for second in range(63, 68):  # its words came late of late
        run.second(float(second), step, False, phase="evaluating", dark=(1,))
    run.train(68, 70, step, False, phase="evaluating")
    for second in range(71, 86):
        run.second(float(second), step, False, phase="evaluating", dark=(1,))
    assert run.alarms() == []


def test_a_node_whose_ranks_work_though_none_of_them_beats_is_not_stopped() -> None:
    """Its disk is full: no beat can be written, and the supervisor's samples need none."""
    run = Run(2, 2)
    step = run.train(1, 50)
    for at in range(51, 160):
        run.second(float(at), step, False, phase="evaluating", but=(2, 3))
        if at % 5 == 0:
            ranks = {str(rank): {"state": "R", "cpu_seconds": 100.0 + at} for rank in (2, 3)}
            run.event(at + 0.1, "sample", 1, ranks=ranks)
    ((at, _, verdict, node, rank),) = run.alarms("rank-silent")
    assert (verdict, node, rank) == ("warn", "n1", None) and at <= 65
    assert "Ranks 2-3 use the CPU" in run.said[0][1].saw


def test_one_rank_that_freezes_beside_another_is_named_alone() -> None:
    run = Run(2, 2)
    step = run.train(1, 50)
    run.train(51, 70, step, False, phase="evaluating", but=(3,))
    assert [where for _, _, _, *where in run.alarms("rank-silent")] == [["n1", 3]]


def test_steps_that_were_taken_while_the_keeper_heard_nobody_are_no_stall():
    """Nothing reaches the keeper for 18 s, then the nodes' own words, and 2 s later what their ranks did."""
    run = Run()
    step = run.train(1, 40)
    for at in range(41, 59):
        run.tick(float(at))
    for at in (59, 60):
        run.second(float(at), step, but=run.ranks)
    run.train(61, 80, step + 20)
    assert run.alarms("no-progress", "rank-holds-up") == []


def test_a_run_that_stands_still_is_told_though_a_link_was_away_before():
    run = Run()
    step = run.train(1, 40)
    for at in range(41, 59):
        run.tick(float(at))
    run.train(59, 100, step, moved=False)
    assert next(at for at, *_ in run.alarms("no-progress")) <= 65
