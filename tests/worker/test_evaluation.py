"""When a loop of the user's own evaluates, with a stand-in for torch."""

from __future__ import annotations

import sys
import types

import pytest

from allranks.worker import evaluation as evaluating
from allranks.worker import guard, rank_identity
from allranks.worker.rank_reporter import Rank


class Module:
    def __init__(self, trained: bool = True):
        self.training, self.trained = True, trained

    def parameters(self):
        return [types.SimpleNamespace(requires_grad=False), types.SimpleNamespace(requires_grad=self.trained)]

    def eval(self):
        self.training = False
        return self


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch):
    own = type("Module", (Module,), {})
    fake = types.SimpleNamespace(
        nn=types.SimpleNamespace(Module=own), is_grad_enabled=lambda: fake.grad, grad=True
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    yield fake
    assert guard.TROUBLE == []


@pytest.fixture
def rank() -> Rank:
    found = rank_identity.here({"ALLRANKS_RUN_ID": "r", "ALLRANKS_NODE": "n", "RANK": "3", "LOCAL_RANK": "1"})
    assert found is not None
    rank = Rank(found)
    rank.owner = "torch"
    rank.reach("training")
    rank.end_step(1)
    return rank


def test_eval_of_the_trained_model_begins_it_and_a_backward_pass_ends_it(torch, rank):
    evaluation = evaluating.watch(rank, torch)
    model = torch.nn.Module()
    assert model.eval() is model
    assert rank.phase == "evaluating"
    model.eval()
    evaluation.end()
    assert rank.phase == "training"


def test_a_frozen_part_and_a_model_before_the_training_are_none(torch, rank):
    evaluating.watch(rank, torch)
    torch.nn.Module(trained=False).eval()
    assert rank.phase == "training"
    rank.step = None
    torch.nn.Module().eval()
    assert rank.phase == "training"


def test_batches_without_gradients_are_an_evaluation_but_one_that_is_read_ahead_is_none(torch, rank):
    evaluation = evaluating.watch(rank, torch)
    torch.grad = False
    evaluation.fetches()
    assert rank.phase == "training"
    evaluation.end()  # the backward pass of a loop that reads ahead
    evaluation.fetches()
    assert rank.phase == "training"
    evaluation.fetches()
    assert rank.phase == "evaluating"
    torch.grad = True
    evaluation.fetches()
    assert rank.phase == "training"


def test_a_trainer_says_it_itself(torch, rank):
    evaluating.watch(rank, torch)
    rank.owner = "trainer"
    torch.nn.Module().eval()
    assert rank.phase == "training"
