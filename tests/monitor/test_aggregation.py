"""One fact on many ranks is one statement."""

from __future__ import annotations

import math
import random

import pytest

from allranks.core import BLOCK, WARN, Event, Where
from allranks.monitor import RankState, RunState, Watch, event_handlers
from allranks.monitor.aggregation import numbers, where_of
from allranks.monitor.detectors import memory_climbing
from allranks.monitor.detectors.no_progress import _suspect_rank


def said(ranks, losses, per_node=8, until=None):
    """The findings of `ranks` ranks that take one step a second with these losses, each at its own moment."""
    watch, found = Watch({"world_size": ranks}), []
    for second, loss in enumerate(losses, 1):
        for rank in range(ranks):
            steps = [[second, loss, 1.0, 0.0, 1, 1e-5]]
            data = {"phase": "training", "step": second, "steps": steps}
            at = second + 0.9 * rank / ranks
            found += [*watch.add(Event(at, "beat", f"n{rank // per_node}", rank, data)), *watch.tick(at)]
    assert not watch.faulty
    return found


def test_nan_on_all_ranks_is_one_warning_and_one_stop() -> None:
    found = [f for f in said(24, [3.0] * 30 + [math.nan] * 20) if f.id == "loss-nan"]
    assert [(f.verdict, f.where) for f in found] == [(WARN, Where()), (BLOCK, Where())]
    assert "on 24 ranks (0-23)" in found[0].saw


def test_nan_on_one_rank_names_it() -> None:
    watch = Watch({"world_size": 24})
    found = []
    for second in range(1, 8):
        for rank in range(24):
            loss = math.nan if rank == 17 and second > 3 else 3.0
            data = {"phase": "training", "step": second, "steps": [[second, loss, 1.0, 0.0, 1, 1e-5]]}
            found += watch.add(Event(float(second), "beat", f"n{rank // 8}", rank, data))
        found += watch.tick(second + 0.5)
    assert [(f.id, f.verdict, f.where.node, f.where.rank) for f in found] == [("loss-nan", WARN, "n2", 17)]


@pytest.mark.parametrize("late", [0, 3])
def test_nan_that_one_rank_gave_to_all_names_that_one(late) -> None:
    """Also if its beats come last."""
    watch = Watch({"world_size": 3})
    found = []
    for second in range(1, 30):
        for rank in range(3):
            step = second - (late if rank == 2 else 0)
            loss = math.nan if step > (5 if rank == 2 else 6) else 3.0
            data = {"phase": "training", "step": step, "steps": [[step, loss, 1.0, 0.0, 1, 1e-5]]}
            found += watch.add(Event(second + rank / 10, "beat", f"n{rank}", rank, data)) if step > 0 else []
        found += watch.tick(second + 0.5)
    told = [(f.verdict, f.where.node, f.where.rank) for f in found if f.id == "loss-nan"]
    assert told == [(WARN, "n2", 2), (BLOCK, "n2", 2)]


def test_a_loss_that_rises_on_all_ranks_is_one_warning() -> None:
    losses = [3.0 - n / 100 for n in range(60)] + [6.0 + n / 50 for n in range(40)]
    found = [f for f in said(12, losses, per_node=12) if f.id == "loss-diverging"]
    assert [(f.verdict, f.where) for f in found] == [(WARN, Where(node="n0"))]
    assert "on 12 ranks (0-11)" in found[0].saw


@pytest.mark.parametrize(
    ("ranks", "text"), [([3], "3"), ([0, 1, 2, 5], "0-2, 5"), ([7, 2, 8, 4], "2, 4, 7-8")]
)
def test_numbers(ranks, text) -> None:
    assert numbers(map(RankState, ranks)) == text


def test_the_place_of_several_ranks_is_the_node_that_they_share() -> None:
    run = RunState()
    for rank, node in ((0, "a"), (1, "a"), (2, "b")):
        run.rank(rank).node = node
    ranks = [run.rank(n) for n in range(3)]
    assert where_of(ranks[:1]) == Where(node="a", rank=0)
    assert where_of(ranks[:2]) == Where(node="a") and where_of(ranks) == Where()


@pytest.mark.parametrize(("nodes", "per_node"), [(2, 2), (2, 8), (3, 4)])
def test_a_node_whose_processes_all_freeze_is_named_as_one(nodes, per_node) -> None:
    """Its supervisor lives: a frozen control group, storage under all ranks."""
    watch, found, ranks = Watch({"world_size": nodes * per_node}), [], nodes * per_node
    for second in range(1, 130):
        for rank in range(ranks):
            node = rank // per_node
            watch.heard(f"n{node}", float(second))
            if second > 50 and node == nodes - 1:
                continue
            step = min(second, 50)
            steps = [[step, 3.0, 1.0, 0.0, 1, 1e-5]] if second <= 50 else []
            data = {"phase": "training", "step": step, "total_steps": 1000, "steps": steps}
            found += watch.add(Event(float(second), "beat", f"n{node}", rank, data))
        found += [(second, f) for f in watch.tick(float(second))]
    names = [(f.id, f.verdict) for _, f in found]
    assert names == [("rank-silent", WARN), ("no-progress", WARN), ("rank-silent", BLOCK)]
    assert {f.where for _, f in found} == {Where(node=f"n{nodes - 1}")}
    (first, silent), (second, stall), (last, _) = found
    assert first - 50 <= 15 and f"all {per_node} ranks on n{nodes - 1}" in silent.saw
    assert second - 50 <= 15 and f"none of the {per_node} ranks" in stall.saw and last - 50 <= 63


def test_ranks_that_freeze_on_many_nodes_at_once_share_one_statement() -> None:
    watch, found = Watch({"world_size": 48}), []
    frozen = set(range(0, 48, 8))
    for second in range(1, 70):
        for rank in range(48):
            if second <= 50 or rank not in frozen:
                step = min(second, 50)
                steps = [[step, 3.0, 1.0, 0.0, 1, 1e-5]] if second <= 50 else []
                data = {"phase": "training", "step": step, "total_steps": 1000, "steps": steps}
                found += watch.add(Event(float(second), "beat", f"n{rank // 8}", rank, data))
        found += watch.tick(float(second))
    silent = [f for f in found if f.id == "rank-silent"]
    assert len(silent) == 1 and "6 ranks (0, 8, 16, 24, 32, 40)" in silent[0].saw


def test_the_gpus_of_a_node_that_is_too_warm_share_one_statement() -> None:
    watch, found = Watch(), []
    for rank in range(10):
        node, uuid = ("a", f"GPU-a{rank}") if rank < 8 else ("b", f"GPU-b{rank - 8}")
        watch.add(Event(0.5, "start", node, rank, {"pid": rank + 9, "start_time": 1, "gpu": {"uuid": uuid}}))
    for at in range(1, 92, 15):
        for node, count in (("a", 8), ("b", 2)):
            gpus = [{"uuid": f"GPU-{node}{n}", "throttle": ["hw_thermal_slowdown"]} for n in range(count)]
            found += watch.add(Event(float(at), "sample", node, None, {"gpus": gpus}))
        found += watch.tick(float(at))
    places = [(f.where.node, f.where.rank) for f in found if f.id == "clocks-throttled"]
    assert places == [("a", None), ("b", 8), ("b", 9)]


def used(watch: Watch, seconds: int, **nodes) -> list:
    """Each node's looks of so many seconds, by a function of a GPU's number that says how much it is used."""
    found = []
    for number, node in enumerate(nodes):
        start = {"pid": 9, "start_time": 1}
        watch.add(Event(0.1, "start", node, number, start))
        watch.add(Event(0.2, "beat", node, number, {"phase": "training", "step": 3, "total_steps": 9999}))
    for at in range(1, seconds, 15):
        for node, look in nodes.items():
            gpus = [{"uuid": f"GPU-{node}{n}", "utilization": look(n)} for n in range(8)]
            watch.add(Event(float(at), "sample", node, None, {"gpus": gpus}))
        found += watch.tick(float(at))
    return [f for f in found if f.id == "gpu-idle"]


def test_gpus_that_idle_for_a_part_of_each_step_are_nobodys_fault() -> None:
    """Steps half on the CPU: five idle looks in a row come to each GPU of a healthy run within two hours."""
    drawn = random.Random(3)

    def half(number: int) -> float:
        return 95.0 if drawn.random() < 0.5 else 0.0

    assert used(Watch(), 7200, a=half, b=half) == []


def test_gpus_that_wait_for_a_rank_that_evaluates_alone_are_nobodys_fault() -> None:
    watch, found = Watch(), []
    watch.add(Event(0.1, "beat", "b", 1, {"phase": "training", "step": 3, "total_steps": 9999}))
    for at in range(1, 1200, 15):
        alone = 300 < at < 900
        beat = {"phase": "evaluating" if alone else "training", "step": at, "total_steps": 9999}
        watch.add(Event(float(at), "beat", "a", 0, beat))
        found += watch.tick(float(at))  # the newest looks are still those of the evaluation
        for node, use in (("a", 95.0), ("b", 0.0 if alone else 95.0)):
            gpus = [{"uuid": f"GPU-{node}", "utilization": use}]
            watch.add(Event(at + 1.0, "sample", node, None, {"gpus": gpus}))
        found += watch.tick(at + 1.0)
    assert [f for f in found if f.id == "gpu-idle"] == []


def test_the_idle_gpus_of_a_node_share_one_statement() -> None:
    (found,) = used(Watch(), 600, a=lambda n: 95.0, b=lambda n: 0.0)
    assert (found.where.node, found.where.rank) == ("b", None) and "8 GPUs" in found.saw


class Counted(dict):
    """How often all of it was gone through."""

    times = 0

    def values(self):
        self.times += 1
        return super().values()


def test_the_memory_of_many_nodes_costs_one_look_at_their_ranks() -> None:
    """Once a node would be nodes × ranks, each half minute."""
    run = RunState()
    run.ranks = Counted()
    for node in range(50):
        sample = {"memory_available_bytes": 50 << 30, "memory_total_bytes": 100 << 30}
        event_handlers.apply(run, Event(1.0, "sample", f"n{node}", None, sample))
        for rank in (2 * node, 2 * node + 1):
            beat = {"phase": "training", "step": 5, "rss_bytes": 1 << 30}
            event_handlers.apply(run, Event(1.0, "beat", f"n{node}", rank, beat))
    before = run.ranks.times
    assert list(memory_climbing.detect(run, 40.0)) == []
    assert run.memory_of("memory-climbing")["rooms"], "it did look"
    assert run.ranks.times - before <= 3


class Step(int):
    """How often two steps were compared."""

    compared = 0

    def __lt__(self, other):
        Step.compared += 1
        return int(self) < int(other)

    def __gt__(self, other):
        Step.compared += 1
        return int(self) > int(other)


def test_who_is_behind_costs_a_look_at_each_rank() -> None:
    """Each rank against the least of all would be 64 million comparisons at 8,000 ranks."""
    ranks = []
    for number in range(200):
        ranks.append(RankState(number))
        ranks[-1].step, ranks[-1].phase = Step(7 if number == 150 else 8), "training"
    Step.compared = 0
    suspect, why = _suspect_rank(ranks, [])
    assert suspect is ranks[150] and why == "is at step 7 of 8"
    assert Step.compared <= 10 * len(ranks)
