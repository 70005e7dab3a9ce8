"""A save of an adapter is whole or is not made: also where PEFT raises an error while its state is read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from allranks.core.payloads import as_json
from allranks.worker import adapter_names, adapters, disk_space, guard, save_events, trainer_checkpoints

pytestmark = pytest.mark.training  # torch and PEFT, in this process


@pytest.fixture
def frozen_half(monkeypatch):
    """A LoRA-FA model, whose lora_A does not train, in one process."""
    import peft
    import torch

    monkeypatch.setattr(guard, "TROUBLE", [])
    torch.manual_seed(0)
    layers = torch.nn.Sequential()
    layers.add_module("a", torch.nn.Linear(8, 8))
    layers.add_module("b", torch.nn.Linear(8, 8))
    model = peft.get_peft_model(layers, peft.LoraConfig(r=2, target_modules=["a"], modules_to_save=["b"]))
    for name, parameter in model.named_parameters():
        if "lora_A" in name:
            parameter.requires_grad_(False)
    return model


def tensors(folder: Path) -> set[str]:
    from safetensors import safe_open

    with safe_open(str(folder / "adapter_model.safetensors"), "pt") as file:
        return set(file.keys())


def raises(times: int, monkeypatch) -> list[int]:
    """PEFT's reading of the state raises an error so many times; how often it was asked."""
    import peft

    real, asked = peft.get_peft_model_state_dict, []

    def read(*args, **kwargs):
        asked.append(1)
        if len(asked) <= times:
            raise ValueError("no config of the base model")
        return real(*args, **kwargs)

    monkeypatch.setattr(peft, "get_peft_model_state_dict", read)
    return asked


def test_the_frozen_half_is_saved_if_peft_cannot_name_it(frozen_half, tmp_path, monkeypatch):
    adapters.save_adapter(frozen_half, str(tmp_path / "asked"))
    raises(1, monkeypatch)

    adapters.save_adapter(frozen_half, str(tmp_path / "not-asked"))

    assert tensors(tmp_path / "not-asked") == tensors(tmp_path / "asked")
    assert any("lora_A" in name for name in tensors(tmp_path / "asked"))
    assert any("no config of the base model" in text for text in guard.TROUBLE)


def test_what_peft_cannot_read_is_not_saved(frozen_half, tmp_path, monkeypatch):
    raises(9, monkeypatch)

    with pytest.raises(
        adapter_names.NotRead, match=r"adapter default: ValueError: no config.*Nothing was saved"
    ):
        adapters.save_adapter(frozen_half, str(tmp_path / "out"))

    assert list(tmp_path.iterdir()) == []


def test_a_kind_that_computes_from_the_values_is_saved_whole(tmp_path, monkeypatch):
    import peft
    import torch

    monkeypatch.setattr(guard, "TROUBLE", [])
    config = peft.VBLoRAConfig(
        r=2, target_modules=["0"], num_vectors=8, vector_length=4, save_only_topk_weights=True
    )
    model = peft.get_peft_model(torch.nn.Sequential(torch.nn.Linear(8, 8)), config)
    model.save_pretrained(str(tmp_path / "by-peft"))

    adapters.save_adapter(model, str(tmp_path / "by-us"))

    assert tensors(tmp_path / "by-us") == tensors(tmp_path / "by-peft")


class Rank:
    """As much of a rank as telling needs."""

    step = 3
    is_here = True

    def __init__(self):
        self.told = []

    def emit(self, event):
        self.told.append(event)

    def is_in(self, phase):
        return False

    def enter(self, phase):
        return phase, 0.0

    def leave(self, entered):
        return 0.5


def a_trainer(full):
    return SimpleNamespace(
        state=SimpleNamespace(global_step=3),
        **({} if full is None else {trainer_checkpoints.CHECKPOINT: full}),
    )


def test_a_checkpoint_that_cannot_be_read_is_left_out_and_told(monkeypatch):
    rank = Rank()
    monkeypatch.setattr(disk_space, "TOLD", [rank])
    begun = save_events.begin(rank, "/out/checkpoint-3")

    trainer_checkpoints.skip_or_raise(
        a_trainer(True), "/out/checkpoint-3", adapter_names.NotRead("no config")
    )
    save_events.finish(rank, begun)

    assert [event.KIND for event in rank.told] == ["saving", "save-skipped"]  # and not `saved`
    assert as_json(rank.told[1]) == {"step": 3, "unread": True, "why": "no config"}


def test_the_next_save_is_called_saved(monkeypatch):
    rank = Rank()
    monkeypatch.setattr(disk_space, "TOLD", [rank])
    disk_space.unread(2, ValueError("no config"))

    save_events.finish(rank, save_events.begin(rank, "/out/checkpoint-3"))

    assert [event.KIND for event in rank.told] == ["save-skipped", "saving", "saved"]


def test_a_final_adapter_that_cannot_be_read_ends_the_run():
    with pytest.raises(adapter_names.NotRead):
        trainer_checkpoints.skip_or_raise(a_trainer(None), "/out", adapter_names.NotRead("no config"))
