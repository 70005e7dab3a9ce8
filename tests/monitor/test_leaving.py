"""Ranks that leave with 0 while the others go on, wait, or have work of their own."""

from __future__ import annotations

import pytest

from allranks.monitor import early_exit, start_patience
from tests.monitor.told import WAITS, WORKS, Run, answers, leaves


def stands_until(end: int, run: Run, step: int, answered: dict) -> None:
    """From second 51 nobody moves; what the ranks are seen to do is asked and heard after second 66."""
    for second in range(51, end):
        run.second(float(second), step, moved=False)
        if second == 66:
            answers(run, 66.1, answered)


@pytest.mark.parametrize(("code", "within"), [(0, 15.0), (None, 40.0)])
def test_a_rank_that_left_is_named_and_the_run_is_stopped_once_the_others_are_known_to_wait(
    code, within
) -> None:
    run = Run(4)
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step, code)
    asked = False
    for second in range(51, 200):
        run.second(float(second), step, moved=False)
        if run.said and not asked:
            asked = True
            answers(run, second + 0.1, dict.fromkeys((0, 2, 3), WAITS))
    found = run.alarms()
    assert [alarm[1:] for alarm in found] == [
        ("rank-exited-early", "warn", "n1", 1),
        ("rank-exited-early", "block", "n1", 1),
    ]
    assert found[0][0] - 50.2 <= within and found[1][0] - 50.2 <= 130.0
    verdict = run.watch.verdict(200.0)
    assert verdict is not None
    assert (verdict.cause, verdict.where.node, verdict.where.rank) == ("rank-exited-early", "n1", 1)


def test_without_stacks_that_prove_it_no_run_is_stopped_for_a_rank_that_left() -> None:
    run = Run(4)
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step)
    run.train(51, 900, step, moved=False)
    assert [alarm[1:3] for alarm in run.alarms()] == [("rank-exited-early", "warn")]


@pytest.mark.parametrize("total", [50, 1000, None])
def test_the_rank_that_works_on_alone_after_the_training_is_let_work(total) -> None:
    """Two ranks; early stopping ends the training, rank 0 merges for twelve minutes."""
    run = Run(2)
    step = run.train(1, 50, total=total)
    leaves(run, 50.2, 1, step)
    answers(run, 66.0, {0: WORKS})
    run.train(67, 67 + 12 * 60, step, moved=False, total=total)
    assert run.alarms("rank-exited-early") == []
    assert all(verdict == "warn" for _, _, verdict, *_ in run.alarms())


def test_the_ranks_that_work_on_each_nodes_behalf_after_the_training_are_let_work() -> None:
    """Two nodes with two ranks each; nobody says how many steps there are, and one rank of each node uploads."""
    run = Run(2, 2)
    step = run.train(1, 50, total=None)
    for rank in (1, 3):
        leaves(run, 50.2, rank, step)
    run.train(51, 300, step, moved=False, total=None)
    assert run.alarms("rank-exited-early") == []


@pytest.mark.parametrize(
    ("inner", "stops"), [("checkpoint/filesystem.py", False), ("distributed_c10d.py", True)]
)
def test_a_rank_that_writes_a_distributed_checkpoint_does_not_wait(inner, stops) -> None:
    run = Run(2)
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step)
    saves = [["/u/train.py", 60, "main"], ["/x/torch/distributed/checkpoint/state_dict_saver.py", 9, "save"]]
    stands_until(200, run, step, {0: [*saves, [f"/x/torch/distributed/{inner}", 5, "f"]]})
    assert ("block" in {verdict for _, _, verdict, *_ in run.alarms()}) == stops


def test_half_of_the_ranks_that_are_seen_to_wait_tell_of_the_one_that_left() -> None:
    run = Run(2)
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step)
    stands_until(200, run, step, {0: WAITS})
    assert [alarm[1:] for alarm in run.alarms("rank-exited-early")] == [
        ("rank-exited-early", "warn", "n1", 1),
        ("rank-exited-early", "block", "n1", 1),
    ]


def test_who_holds_up_the_others_after_a_rank_left_is_not_hidden_by_it() -> None:
    """CPU ranks: what the stacks show is in no collective works, and nobody waits for the one that left."""
    run = Run(4)
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step)
    stands_until(120, run, step, {0: WAITS, 2: WAITS, 3: WORKS})
    assert ("rank-holds-up", 3) in {(name, rank) for _, name, _, _, rank in run.alarms()}
    assert all(verdict == "warn" for _, _, verdict, *_ in run.alarms())


def test_a_rank_that_reads_a_result_on_its_gpu_is_not_blamed_for_one_that_left() -> None:
    run = Run(4)
    for rank in run.ranks:
        run.event(0.2, "start", rank, rank, pid=100 + rank, start_time=1, gpu={"uuid": f"GPU-{rank}"})
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step)
    stands_until(120, run, step, {0: WAITS, 2: WAITS, 3: [["/u/train.py", 33, "<module>"]]})
    assert [alarm[1:] for alarm in run.alarms()] == [("rank-exited-early", "warn", "n1", 1)]


def test_a_dead_rank_of_unknown_code_silences_the_others_only_until_its_torchrun_must_have_ended() -> None:
    run = Run(3)
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step, None)
    run.train(51, 80, step, moved=False)
    assert run.said == [] and run.watch.run.quiet
    run.event(81.0, "torchrun-ended", 1, code=1, failures=[{"rank": 1, "code": 7}])
    run.train(82, 200, step, moved=False)
    assert run.said == [] and run.watch.run.trouble_at == pytest.approx(50.4, abs=0.5)


def test_a_node_that_hung_up_after_its_own_end_hides_no_hang_of_the_others() -> None:
    run = Run(2)
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step)
    run.event(51.0, "torchrun-ended", 1, code=0)
    run.event(52.0, "lost", 1, why="closed")
    for second in range(53, 120):
        run.second(float(second), step, moved=False, dark=(1,))
    assert [alarm[1:3] for alarm in run.alarms()] == [("no-progress", "warn")]


def test_half_of_the_ranks_that_are_seen_to_work_are_looked_at_and_not_spoken_of() -> None:
    """One rank is left, and nobody says how many steps there are: it is asked before the stillness would be told."""
    run = Run(2)
    step = run.train(1, 60, total=None)
    leaves(run, 60.2, 1, step)
    asked = []
    for second in range(61, 400):
        run.second(float(second), step, moved=False, total=None)
        if start_patience.due(run.watch.run, float(second)):
            asked.append(second)
            answers(run, second + 0.1, {0: WORKS}, quiet=True)
    assert asked and asked[0] < 73
    assert run.alarms() == []


@pytest.mark.parametrize(
    ("flight", "told"),
    [
        ({}, True),  # what it waits for on its GPU is not known
        ({"completed": 7, "groups": [{"group": "0", "pending": [8]}]}, True),
        ({"completed": 7, "groups": [{"group": "0"}]}, False),
    ],
)
def test_a_rank_on_a_gpu_works_where_its_recorder_tells_of_no_collective_that_is_due(flight, told) -> None:
    run = Run(2)
    for rank in run.ranks:
        run.event(0.2, "start", rank, rank, pid=100 + rank, start_time=1, gpu={"uuid": f"GPU-{rank}"})
    step = run.train(1, 60, total=None)
    leaves(run, 60.2, 1, step)
    for second in range(61, 120):
        run.second(float(second), step, moved=False, total=None)
        if second == 70:
            answers(run, 70.1, {0: WORKS}, quiet=True)
            run.event(70.7, "flight", 0, 0, sequence=8, **flight)
    assert bool(run.alarms()) == told


@pytest.mark.parametrize("done", [True, False])
def test_a_rank_that_left_while_the_watcher_was_away_is_named_all_the_same(done) -> None:
    """The watcher was suspended from 52 to 80: what it moves on with it, it moves for the ends, too."""
    run = Run(4)
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step, 0 if done else None)
    for second in [51, *range(80, 200)]:
        run.second(float(second), step, moved=False)
    assert [alarm[1:] for alarm in run.alarms()] == [("rank-exited-early", "warn", "n1", 1)]


def test_a_rank_that_left_before_the_watcher_was_away_is_the_verdict_where_the_others_stood_still() -> None:
    run = Run(4)
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step)
    for second in [51, *range(80, 600)]:
        run.second(float(second), step, moved=False)
    run.event(500.0, "evidence", 0, why="no-progress")
    for rank in (0, 2, 3):
        run.event(600.0, "rank-gone", rank, rank, pid=100 + rank, code=1)
    verdict = run.watch.verdict(700.0)
    assert verdict is not None
    assert (verdict.cause, verdict.where.rank) == ("rank-exited-early", 1)


def test_what_each_rank_that_is_done_costs_the_verdict_is_not_a_look_at_all_others(monkeypatch) -> None:
    looks = []
    told = early_exit._lost_a_peer
    monkeypatch.setattr(early_exit, "_lost_a_peer", lambda ranks: looks.append(len(ranks)) or told(ranks))
    run = Run(40)
    step = run.train(1, 3)
    for rank in range(1, 30):
        leaves(run, 3.5, rank, step)
    run.watch.verdict(60.0)
    early_exit.by_early_exit(run.watch.run)
    assert 0 < len(looks) <= 6, "not one for each of 29"


# ---- more than half have left ----


def alone(run, first, last, step, stack, **beat):
    """Rank 0 is left alone; a keeper asks in silence when it is time, and aloud at a word. The seconds of the looks."""
    looks = []
    for second in range(first, last):
        told = len(run.said)
        run.second(float(second), step, moved=False, **beat)
        if start_patience.due(run.watch.run, float(second)):
            looks.append(second)
            answers(run, second + 0.1, {0: stack}, quiet=True)
        if len(run.said) > told and start_patience.due_again(run.watch.run, float(second)):
            answers(run, second + 0.1, {0: stack})
    return looks


def most_left(total, world=3):
    run = Run(world)
    step = run.train(1, 60, total=total)
    for rank in range(1, world):
        leaves(run, 60.2 + rank / 10, rank, step)
    return run, step


@pytest.mark.parametrize("total", [1000, None])
@pytest.mark.parametrize("phase", ["training", "evaluating"])
def test_the_last_rank_that_waits_for_those_that_left_is_no_work_after_the_training(total, phase) -> None:
    """Uneven shards: two of three ranks run out of batches, the third hangs in its collective."""
    run, step = most_left(total)
    alone(run, 61, 300, step, WAITS, total=total, phase=phase)
    found = run.alarms()
    assert [alarm[1:] for alarm in found] == [
        ("rank-exited-early", "warn", "n1", 1),
        ("rank-exited-early", "block", "n1", 1),
    ]
    assert found[0][0] <= 130.0 and found[1][0] <= 190.0


@pytest.mark.parametrize("total", [1000, None])
def test_the_last_rank_that_works_is_looked_at_a_few_times_and_let_work(total) -> None:
    run, step = most_left(total)
    looks = alone(run, 61, 1800, step, WORKS, total=total)
    assert run.alarms() == [] and 5 <= len(looks) <= 9


def test_the_last_rank_is_told_of_where_it_hangs_after_its_work() -> None:
    run, step = most_left(None)
    alone(run, 61, 300, step, WORKS, total=None)
    alone(run, 300, 1000, step, WAITS, total=None)
    warned, stopped = run.alarms()
    assert (warned[1:], stopped[1:]) == (
        ("rank-exited-early", "warn", "n1", 1),
        ("rank-exited-early", "block", "n1", 1),
    )
    assert stopped[0] - warned[0] > 60.0, "it is asked once more before anything is stopped"


def test_the_last_rank_that_waited_for_a_moment_only_is_not_stopped() -> None:
    """It is told of once; asked again, it works."""
    run, step = most_left(None)
    for second in range(61, 1500):
        run.second(float(second), step, moved=False, total=None)
        if second in (72, 130):
            answers(run, second + 0.1, {0: WAITS if second == 72 else WORKS}, quiet=second == 72)
    assert [alarm[1:3] for alarm in run.alarms()] == [("rank-exited-early", "warn")]


def test_nobody_is_asked_after_an_end_at_the_last_step() -> None:
    run, step = most_left(60)
    assert alone(run, 61, 1000, step, WAITS, total=60) == [] and run.alarms() == []
