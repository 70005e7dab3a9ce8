"""Runs told second by second: stalls that pass and come again, clocks that are set, ranks that leave."""

from __future__ import annotations

from itertools import pairwise

import pytest

from allranks.watch import Watch
from allranks.words import Event, Finding

WAITS = [
    ["/u/train.py", 30, "<module>"],
    ["/x/site-packages/torch/distributed/distributed_c10d.py", 9, "all_reduce"],
]
WORKS = [["/u/train.py", 58, "<module>"], ["/u/export.py", 7, "merge_and_push"]]


class Run:
    """`nodes` nodes with `per_node` ranks each; `clocks` holds how far each node's clock is ahead of the head's."""

    def __init__(self, nodes=3, per_node=1, **expect):
        ranks = nodes * per_node
        self.watch = Watch({"world_size": ranks, **expect})
        self.ranks, self.per_node, self.said, self.clocks = range(ranks), per_node, [], {}
        for node in range(nodes):
            self.event(0.0, "joined", node)
            self.event(0.0, "supervisor", node, process={"boot_id": f"b{node}"})
        for rank in self.ranks:
            self.event(0.1, "start", rank // per_node, rank, pid=100 + rank, start_time=1)

    def event(self, at, kind, node, rank=None, **data):
        """What happens at `at` by the head's clock, told by the node's clock, heard at once."""
        told = Event(at + self.clocks.get(node, 0.0), kind, f"n{node}", rank, data)
        self._keep(at, self.watch.add(told, received=at))

    def beat(self, at, rank, step, moved=True, phase="training", loss=3.0, total=1000, seconds=1.0):
        steps = [[step, loss, seconds, 0.0, 1, 1e-5]] if moved else []
        beat = {"phase": phase, "step": step, "total_steps": total, "steps": steps}
        self.event(at, "beat", rank // self.per_node, rank, **beat)

    def second(self, at, step, moved=True, but=(), dark=(), **beat):
        """One second of the whole run; the ranks in `but` are not heard, of the nodes in `dark` nothing is."""
        for rank in self.ranks:
            node = rank // self.per_node
            if node not in dark:
                self.watch.heard(f"n{node}", at)
                if rank not in but and self.watch.run.rank(rank).alive:
                    self.beat(at, rank, step, moved, **beat)
        self.tick(at)

    def tick(self, at):
        self._keep(at, self.watch.tick(at))

    def train(self, first, last, step=0, moved=True, **beat):
        """Seconds `first` to `last`, one step each where it moves; the last step."""
        for at in range(first, last + 1):
            step += 1 if moved else 0
            self.second(float(at), step, moved, **beat)
        return step

    def alarms(self, *names):
        return [
            (at, f.id, f.verdict, f.where.node, f.where.rank)
            for at, f in self.said
            if f.id in names or not names
        ]

    def _keep(self, at, statements):
        self.said += [(at, f) for f in statements if isinstance(f, Finding)]
        assert not self.watch.faulty


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


# ---- a rank that leaves with 0 ----


def leaves(run, at, rank, step, code: int | None = 0):
    """As a script ends; a `code` of None: by os._exit, reaped before anybody looked."""
    node = rank // run.per_node
    if code is not None:
        run.event(at, "beat", node, rank, phase="done", step=step)
        run.event(at + 0.1, "end", node, rank, code=code)
    run.event(at + 0.2, "rank-gone", node, rank, pid=100 + rank, code=code)


def answers(run, at, stacks):
    run.event(at, "evidence", 0, why="rank-exited-early")
    for rank, frames in stacks.items():
        run.event(at + 0.5, "stack", rank // run.per_node, rank, frames=frames, by="inside")


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
    for second in range(51, 200):
        run.second(float(second), step, moved=False)
        if second == 66:
            answers(run, 66.1, {0: [*saves, [f"/x/torch/distributed/{inner}", 5, "f"]]})
    assert ("block" in {verdict for _, _, verdict, *_ in run.alarms()}) == stops


def test_half_of_the_ranks_that_are_seen_to_wait_tell_of_the_one_that_left() -> None:
    run = Run(2)
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step)
    for second in range(51, 200):
        run.second(float(second), step, moved=False)
        if second == 66:
            answers(run, 66.1, {0: WAITS})
    assert [alarm[1:] for alarm in run.alarms("rank-exited-early")] == [
        ("rank-exited-early", "warn", "n1", 1),
        ("rank-exited-early", "block", "n1", 1),
    ]


def test_who_holds_up_the_others_after_a_rank_left_is_not_hidden_by_it() -> None:
    """CPU ranks: what the stacks show is in no collective works, and nobody waits for the one that left."""
    run = Run(4)
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step)
    for second in range(51, 120):
        run.second(float(second), step, moved=False)
        if second == 66:
            answers(run, 66.1, {0: WAITS, 2: WAITS, 3: WORKS})
    assert ("rank-holds-up", 3) in {(name, rank) for _, name, _, _, rank in run.alarms()}
    assert all(verdict == "warn" for _, _, verdict, *_ in run.alarms())


def test_a_rank_that_reads_a_result_on_its_gpu_is_not_blamed_for_one_that_left() -> None:
    run = Run(4)
    for rank in run.ranks:
        run.event(0.2, "start", rank, rank, pid=100 + rank, start_time=1, gpu={"uuid": f"GPU-{rank}"})
    step = run.train(1, 50)
    leaves(run, 50.2, 1, step)
    for second in range(51, 120):
        run.second(float(second), step, moved=False)
        if second == 66:
            answers(run, 66.1, {0: WAITS, 2: WAITS, 3: [["/u/train.py", 33, "<module>"]]})
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
