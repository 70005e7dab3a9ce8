"""A rank whose beats are lost and not its process: the others take steps that need it, so nobody is stopped."""

from __future__ import annotations

import pytest

from allranks.core import BLOCK, WARN, Event
from allranks.monitor import Watch
from allranks.monitor.detectors import rank_holds_up
from tests.monitor.told import Run

FULL = {"path": "/home/x/runs/r1", "total_bytes": 8 << 20, "free_bytes": 0, "free_inodes": 900}
GONE = {"path": "/home/x/runs/r1", "gone": True}


def said(until, stands=None, disk=None, start=20, state="S"):
    """Two ranks take a step a second; rank 1 is not heard any more from second `start` on, and rank 0 goes on to take
    steps until `stands`. What is said, with the second."""
    watch, found = Watch({"world_size": 2, "steps": 1000}), []
    for rank in (0, 1):
        data = {"pid": 10 + rank, "start_time": 1, "boot_id": str(rank)}
        watch.add(Event(0.0, "start", "ab"[rank], rank, data))
    for second in range(1, until):
        for rank in (0, 1) if second < start else (0,):
            step = min(second, stands or until)
            steps = [[step, 3.0, 1.0, 0, 1, 1e-5]] if step == second else []
            data = {"phase": "training", "step": step, "steps": steps}
            watch.add(Event(float(second), "beat", "ab"[rank], rank, data))
        for node in "ab":
            watch.heard(node, float(second))
            if second % 5 == 0:
                disks = [disk] if disk and node == "b" and second >= start else []
                ranks = {str("ab".index(node)): {"state": state, "cpu_seconds": second * 0.02}}
                watch.add(Event(float(second), "sample", node, None, {"disks": disks, "ranks": ranks}))
        found += [(second, finding) for finding in watch.tick(float(second))]
    return found


@pytest.mark.parametrize(
    ("disk", "words"),
    [
        (None, ""),
        (FULL, "The disk of /home/x/runs/r1 is full on b."),
        (GONE, "The folder /home/x/runs/r1 is gone on b."),
    ],
)
def test_nobody_is_stopped_for_a_silence_while_others_take_steps_that_need_it(disk, words):
    found = said(400, disk=disk)
    assert not [finding for _, finding in found if finding.verdict == BLOCK]
    (silent,) = [finding for _, finding in found if finding.id == "rank-silent"]
    assert (silent.verdict, silent.where.rank) == (WARN, 1) and "frozen" not in silent.why
    assert "which it cannot take without it" in silent.saw and words in silent.saw


@pytest.mark.parametrize(("disk", "id"), [(FULL, "disk-filling"), (GONE, "folder-gone")])
def test_the_disk_is_named_as_what_it_is(disk, id):
    (finding,) = [finding for _, finding in said(60, disk=disk) if finding.id == id]
    assert (finding.where.node, finding.where.file) == ("b", "/home/x/runs/r1")
    assert ("full" if disk is FULL else "gone") in finding.saw and finding.verdict == WARN


def test_a_frozen_rank_is_still_stopped_where_the_others_stand_still_for_it():
    blocks = [second for second, finding in said(200, stands=21) if finding.verdict == BLOCK]
    assert 79 <= blocks[0] <= 84  # a minute after the last beat, at second 19


def test_a_rank_that_freezes_after_its_beats_were_lost_is_stopped_once_the_others_stand_still():
    """Its beats are lost from second 20 on, and its process freezes at 100."""
    blocks = [second for second, finding in said(200, stands=100) if finding.verdict == BLOCK]
    assert blocks and 100 < blocks[0] <= 125


def test_steps_between_a_rank_s_last_beat_and_its_freezing_prove_nothing():
    """Rank 1 beats last at second 20, takes four steps more and freezes: rank 0 tells of them at 21, then no more."""
    watch, found = Watch({"world_size": 2, "steps": 1000}), []
    for second in range(1, 100):
        for rank in (0, 1) if second <= 20 else (0,):
            step = 5 * min(second, 21) - (second >= 21)
            steps = [[n, 3.0, 0.2, 0, 1, 1e-5] for n in range(step - 4, step + 1)] if second <= 21 else []
            data = {"phase": "training", "step": step, "steps": steps}
            watch.add(Event(float(second), "beat", "ab"[rank], rank, data))
        for node in "ab":
            watch.heard(node, float(second))
        found += [(second, finding) for finding in watch.tick(float(second)) if finding.id == "rank-silent"]
    assert found[0][0] <= 32 and "frozen" in found[0][1].why and "cannot take" not in found[0][1].saw
    assert next(second for second, finding in found if finding.verdict == BLOCK) in (80, 81)


def test_a_rank_that_would_run_if_it_got_a_core_is_not_stopped():
    """One call keeps Python's lock on a machine that gives it 2 % of a core; the others stand still for it."""
    assert not [finding for _, finding in said(200, stands=21, state="R") if finding.verdict == BLOCK]
    assert [finding for _, finding in said(200, stands=21, state="D") if finding.verdict == BLOCK]


def test_most_nodes_that_are_silent_at_once_are_not_blamed():
    """All ranks load an index with Python's lock held; two nodes of nine are a little faster."""
    run = Run(9, 2)
    run.train(1, 60)
    for at in range(61, 90):
        run.second(float(at), 60, False, but=range(4, 18))
    assert run.alarms("rank-silent") == []


def test_one_node_that_is_silent_is_still_named():
    run = Run(9, 2)
    run.train(1, 60)
    for at in range(61, 90):
        run.second(float(at), 60, False, but=(4, 5))
    assert {node for _, _, _, node, _ in run.alarms("rank-silent")} == {"n2"}


@pytest.mark.parametrize(("seconds", "least"), [(1.0, 600.0), (900.0, 900.0)])
def test_a_rank_is_not_stopped_within_one_step_of_the_run(seconds, least):
    run = Run(2)
    for step in range(1, 9):
        run.second(step * seconds, step, seconds=seconds)
    assert rank_holds_up.patience(run.watch.run) >= least
