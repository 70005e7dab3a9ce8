"""Which optimizer's steps a loop of the script's own is counted by, with stand-ins for torch's optimizers."""

from __future__ import annotations

import types

import pytest

from allranks.worker import guard, rank_identity
from allranks.worker.losses import Losses
from allranks.worker.rank_reporter import Rank
from allranks.worker.torch_hooks import PlainLoop


class Optimizer:
    def __init__(self) -> None:
        self.param_groups = [{"lr": 0.5}]


@pytest.fixture
def loop():
    place = rank_identity.here({"ALLRANKS_RUN_ID": "r", "ALLRANKS_NODE": "n", "RANK": "0", "LOCAL_RANK": "0"})
    assert place is not None
    rank = Rank(place)
    rank.owner, rank.evaluation = "torch", types.SimpleNamespace(end=lambda: None)
    yield PlainLoop(rank, Losses(rank), lambda: False)
    assert guard.TROUBLE == []


def counted(loop: PlainLoop, optimizers: dict[str, Optimizer], order: str) -> list[tuple[int, float]]:
    """Each letter is a backward pass with a loss of 1.0 and a step of that optimizer: the records' numbers, losses."""
    for letter in order:
        loop.losses._seen.append(1.0)
        loop.stepped(optimizers[letter], (), {})
    return [(record[0], record[1]) for record in loop.rank.records]


@pytest.mark.parametrize(
    "order, numbers",
    [
        ("aaaa", [1, 2, 3, 4]),
        ("abab", [1, 2]),  # a GAN's take turns
        ("aabaabaab", [1, 2, 3, 4, 5, 6]),  # five critics' steps for each of the generator's, or two
        ("abbbb", [1, 5]),  # a second phase: three steps show that it is one, and count
        ("aaaabbbbcccc", [1, 2, 3, 4, 8, 12]),  # k-fold, all optimizers alive
        ("abbabbabb", [1, 2, 3]),
    ],
)
def test_steps_of_several_optimizers_are_counted_by_one_that_still_steps(loop, order, numbers):
    optimizers = {letter: Optimizer() for letter in "abc"}
    assert [number for number, _ in counted(loop, optimizers, order)] == numbers


def test_a_phase_that_takes_over_brings_no_losses_of_uncounted_steps(loop):
    optimizers = {letter: Optimizer() for letter in "ab"}
    assert counted(loop, optimizers, "aabbbbb") == [(1, 1.0), (2, 1.0), (6, 1.0), (7, 1.0)]


def test_after_an_optimizer_that_is_gone_the_next_one_counts_at_once(loop):
    optimizers = {"a": Optimizer(), "b": Optimizer()}
    counted(loop, optimizers, "aa")
    del optimizers["a"]
    assert [number for number, _ in counted(loop, optimizers, "bb")] == [1, 2, 3, 4]
