"""What rank 0 finds before a collective, and how the others hear of it: one process is both here."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from allranks.inside import space, trainer_state
from allranks.inside.trainer_state import CannotResume

pytestmark = pytest.mark.training


@pytest.fixture
def alone(monkeypatch):
    """A world of one rank whose broadcast changes nothing."""
    monkeypatch.setattr(torch.distributed, "broadcast", lambda tensor, src: None)
    monkeypatch.setattr(trainer_state.flats, "rank", lambda: 0)
    monkeypatch.setattr(trainer_state.flats, "device", lambda: torch.device("cpu"))


def test_any_trouble_of_rank_0_is_told_before_it_is_raised(alone):
    def broken():
        raise KeyError("moments")

    with pytest.raises(CannotResume, match="KeyError: 'moments'"):
        trainer_state.agree(broken)
    assert trainer_state.agree(lambda: [1, None]) == [1, None]


def test_a_save_that_cannot_be_planned_is_tried(alone, monkeypatch, tmp_path):
    monkeypatch.setattr(space.guard, "TROUBLE", [])
    assert space.has_room(SimpleNamespace(module=None), str(tmp_path), 3, with_state=True)
    assert "plans the next save" in space.guard.TROUBLE[0]


@pytest.mark.parametrize(
    ("saved", "groups", "words"),
    [
        ("AdamW", 1, None),
        ("DeepSpeedCPUAdam", 1, None),
        ("Adagrad", 1, "the state of Adagrad, here the optimizer is AdamW"),
        ("AdamW", 2, "2 groups of parameters, here are 1"),
    ],
)
def test_a_state_of_another_optimizer_is_refused(saved, groups, words):
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(2))])
    data = {"optimizer": saved, "groups": [{}] * groups}
    if words is None:
        trainer_state._same_optimizer("ckpt", data, optimizer)
        return
    with pytest.raises(CannotResume, match=words):
        trainer_state._same_optimizer("ckpt", data, optimizer)
