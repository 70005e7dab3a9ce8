"""Who is called slow, of ranks whose own time before a step's collective varies as real ones do."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from allranks.core import Event, Finding
from allranks.monitor import Watch

Own = Callable[[int, int], float]
"""(rank, step) to the seconds before that step's first collective."""


def said(own: Own, ranks: int, per_node: int, steps: int = 150) -> list[Finding]:
    """Every rank's step takes as long as the slowest one's own time and 0.1 s more."""
    watch, now, found = Watch({"world_size": ranks}), 0.0, []
    for step in range(1, steps):
        mine = [own(rank, step) for rank in range(ranks)]
        took = max(mine) + 0.1
        now += took
        for rank, seconds in enumerate(mine):
            row = [step, 3.0, took, 0.001, 1, 1e-5, seconds]
            data = {"phase": "training", "step": step, "steps": [row]}
            found += watch.add(Event(now, "beat", f"node-{rank // per_node}", rank, data))
        found += watch.tick(now)
    assert not watch.faulty
    return [f for f in found if f.id == "straggler"]


def noisy(seed: int, spread: float) -> Own:
    pick = random.Random(seed)
    return lambda rank, step: pick.lognormvariate(0.0, spread)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("ranks", "per_node"), [(2, 1), (3, 1), (4, 2), (16, 8)])
def test_batches_of_uneven_length_make_no_straggler(ranks, per_node, seed) -> None:
    for spread in (0.02, 0.2, 0.5):
        assert said(noisy(seed, spread), ranks, per_node) == []


@pytest.mark.parametrize(("ranks", "per_node"), [(2, 1), (3, 1), (16, 8)])
def test_what_one_rank_does_now_and_then_or_shortly_makes_none(ranks, per_node) -> None:
    def logs_and_saves(rank: int, step: int) -> float:
        usual = 0.5 + (0.015 if rank == 0 else 0.0)  # a line printed in every step
        return usual + (20.0 if rank == 0 and step % 10 == 0 else 0.0)

    def a_neighbour(rank: int, step: int) -> float:
        return 1.0 if rank == 0 and 60 <= step < 75 else 0.5  # 16 s of it

    for own in (logs_and_saves, a_neighbour):
        assert said(own, ranks, per_node) == []


@pytest.mark.parametrize(("ranks", "per_node"), [(2, 1), (3, 1), (4, 2), (16, 8)])
def test_a_slow_rank_is_named(ranks, per_node) -> None:
    noise = noisy(1, 0.1)
    found = said(lambda rank, step: noise(rank, step) * (1.5 if rank == 1 else 1.0), ranks, per_node)
    assert [(f.where.rank, f.where.node) for f in found] == [(1, f"node-{1 // per_node}")]
    assert found[0].verdict == "warn" and "before it meets the others" in found[0].saw


@pytest.mark.parametrize(("ranks", "per_node"), [(16, 8), (4, 2), (24, 8)])
def test_a_slow_node_is_named_once_and_not_by_its_ranks(ranks, per_node) -> None:
    noise = noisy(1, 0.1)
    slow = {per_node + n for n in range(per_node)}
    found = said(lambda rank, step: noise(rank, step) * (1.5 if rank in slow else 1.0), ranks, per_node)
    assert [(f.where.node, f.where.rank) for f in found] == [("node-1", None)]


def test_waits_for_data_are_told_as_such() -> None:
    watch, found = Watch({"world_size": 2}), []
    for step in range(1, 80):
        for rank in (0, 1):
            row = [step, 3.0, 1.0, 0.5 * rank, 1, 1e-5, 0.3 + 0.5 * rank]
            data = {"phase": "training", "step": step, "steps": [row]}
            found += watch.add(Event(float(step), "beat", "ab"[rank], rank, data))
        found += watch.tick(float(step))
    (one,) = [f for f in found if f.id == "straggler"]
    assert one.where.rank == 1 and "0.50 s of it waiting for data" in one.saw
