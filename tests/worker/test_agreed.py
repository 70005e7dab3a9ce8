"""What rank 0 finds before a collective, and how the others hear of it: one process is both here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from allranks.worker import collective, disk_space, frozen_parts, replicas, trainer_checkpoints, trainer_state
from allranks.worker.collective import CannotResume

pytestmark = pytest.mark.training


@pytest.fixture
def alone(monkeypatch):
    """A world of one rank whose broadcast changes nothing."""
    monkeypatch.setattr(torch.distributed, "broadcast", lambda tensor, src: None)
    monkeypatch.setattr(trainer_state.optimizer_state, "rank", lambda: 0)
    monkeypatch.setattr(trainer_state.optimizer_state, "device", lambda: torch.device("cpu"))


def test_any_trouble_of_rank_0_is_told_before_it_is_raised(alone):
    def broken():
        raise KeyError("moments")

    with pytest.raises(CannotResume, match="KeyError: 'moments'"):
        collective.agree(broken)
    assert collective.agree(lambda: [1, None]) == [1, None]


@pytest.mark.parametrize("length", [0, 492, 493, 494, 5000])
def test_an_answer_of_any_length_comes_to_the_others(monkeypatch, length):
    """Rank 0's broadcasts are kept, and given to rank 1 in their order: as many, and each as long."""
    sent, answer = [], "x" * length
    monkeypatch.setattr(trainer_state.optimizer_state, "device", lambda: torch.device("cpu"))
    monkeypatch.setattr(trainer_state.optimizer_state, "rank", lambda: 0)
    monkeypatch.setattr(torch.distributed, "broadcast", lambda tensor, src: sent.append(tensor.clone()))
    assert collective.agree(lambda: answer) == answer
    assert len(sent) == (1 if length <= 493 else 2)  # 512, less 8 for the length and 11 for `{"got": ""}`

    monkeypatch.setattr(trainer_state.optimizer_state, "rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "broadcast", lambda tensor, src: tensor.copy_(sent.pop(0)))
    assert collective.agree(lambda: "of nobody") == answer and not sent


def test_a_save_that_cannot_be_planned_is_tried(alone, monkeypatch, tmp_path):
    monkeypatch.setattr(disk_space.guard, "TROUBLE", [])
    assert disk_space.has_room(SimpleNamespace(module=None), str(tmp_path), 3, with_state=True)
    assert "plans the next save" in disk_space.guard.TROUBLE[0]


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


@pytest.mark.parametrize(
    ("then", "here"), [(None, "replicas"), ("deepspeed", "replicas"), ("replicas", "deepspeed")]
)
def test_a_state_from_under_deepspeed_has_no_place_without_it(then, here):
    data = {} if then is None else {"kind": then}
    with pytest.raises(CannotResume, match="Resume with the `deepspeed` of that run"):
        trainer_state._same_kind("ckpt", data, here)
    trainer_state._same_kind("ckpt", {"kind": here}, here)
    assert (
        trainer_state.kind(SimpleNamespace()) == "deepspeed" and replicas.Replicas.allranks_kind == "replicas"
    )


@pytest.mark.parametrize("now", ["torch", "other"])
def test_the_step_of_an_empty_state_is_what_this_optimizer_keeps(now):
    """DeepSpeed's own Adams count in a number, torch's in a tensor, beside the weights where it is fused."""
    parameter = torch.nn.Parameter(torch.zeros(2))
    optimizer: Any = torch.optim.AdamW([parameter]) if now == "torch" else type("FusedAdam", (), {})()
    optimizer.param_groups = [{"fused": False}]
    flat: Any = SimpleNamespace(
        copied=False,
        kinds=lambda: ["master", "exp_avg"],
        group=0,
        state={},
        master=torch.zeros(2, device="meta"),
    )
    data = {
        "scalars": [[0, {"step": 3.0}]], "groups": [{"fused": True}], "loss_scale": {}, "optimizer": "FusedAdam",
        "engine": dict.fromkeys(trainer_state.COUNTERS, 0), "scheduler": None,
    }  # fmt: skip
    inner = SimpleNamespace(optimizer=optimizer)
    engine = SimpleNamespace(optimizer=inner, gradient_accumulation_steps=lambda: 1)
    trainer_state._load_numbers(engine, (flat,), data)
    step = flat.state["step"]
    assert step.device.type == "meta" if now == "torch" else step == 3.0


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("Error while serializing: I/O error: No space left on device (os error 28)", True),
        (
            'Error while serializing: IoError(Os { code: 28, kind: StorageFull, message: "No space left" })',
            True,
        ),
        ("Error while serializing: IoError(Os { code: 5, kind: Uncategorized })", False),
        ("code: 281", False),
    ],
)
def test_a_full_disk_is_known_by_the_words_of_old_and_new_safetensors(text, full, tmp_path):
    assert disk_space.is_full(RuntimeError(text), str(tmp_path)) is full


def test_only_rank_0_has_a_folder_for_the_state(monkeypatch):
    """`save_on_each_node` gives a rank of every node one: a state there would lack all parts but its own."""
    folders = []
    monkeypatch.setattr(trainer_state, "write", lambda snapshot, folder: folders.append(folder))
    nothing: Any = SimpleNamespace()  # it is handed on as it is
    for rank in (0, 8):
        monkeypatch.setattr(trainer_state.optimizer_state, "rank", lambda rank=rank: rank)
        trainer_checkpoints.put(nothing, "/out/checkpoint-1")
    assert folders == ["/out/checkpoint-1", None]


@pytest.mark.parametrize(
    "saved, writes, left_out", [(True, True, True), (False, True, False), (True, False, False)]
)
def test_a_full_disk_between_deepspeeds_own_shards_is_raised(monkeypatch, tmp_path, saved, writes, left_out):
    """There the ranks wait for each other: one that goes on alone would keep them waiting."""
    monkeypatch.setattr(trainer_checkpoints, "kept", lambda trainer: object())
    monkeypatch.setattr(disk_space, "has_room", lambda *args: True)
    monkeypatch.setattr(disk_space, "skipped", lambda *args: None)
    trainer = SimpleNamespace(
        args=SimpleNamespace(save_only_model=False, should_save=writes), state=SimpleNamespace(global_step=1),
        _get_output_dir=lambda trial: str(tmp_path),
    )  # fmt: skip

    def stock(self):
        if saved:
            setattr(self, trainer_checkpoints.SAVED, str(tmp_path))
        raise OSError(28, "No space left on device")

    save = trainer_checkpoints.saving_checkpoint(stock)
    if left_out:
        save(trainer)
    else:
        with pytest.raises(OSError):
            save(trainer)


class Adapter(torch.nn.Module):
    def __init__(self, frozen_a: bool):
        super().__init__()
        self.base_model = torch.nn.Module()
        self.lora_A, self.lora_B, self.weight = (torch.nn.Linear(2, 2, bias=False) for _ in range(3))
        self.weight.requires_grad_(False)
        self.lora_A.requires_grad_(not frozen_a)


def test_an_adapter_with_frozen_parts_is_the_trainers_own_to_save():
    assert frozen_parts.names(Adapter(frozen_a=True))
    assert not frozen_parts.names(Adapter(frozen_a=False))
