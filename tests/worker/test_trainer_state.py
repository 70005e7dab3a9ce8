"""What a resume state holds, and what it refuses to hold: without an engine, on stand-ins."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest

from allranks.worker import optimizer_state, trainer_checkpoints, trainer_state
from allranks.worker.optimizer_state import NotHeld


def test_a_schedule_with_numbers_as_keys_is_left_to_the_trainer() -> None:
    """`MultiStepLR` looks its steps up in a Counter; JSON would make them text, and the rate would never fall."""
    milestones = SimpleNamespace(state_dict=lambda: {"last_epoch": 3, "milestones": Counter([30, 60])})
    with pytest.raises(NotHeld, match="keys that are not text"):
        trainer_state.scheduler_state(milestones)
    plain = {"last_epoch": 3, "_schedulers": [{"base_lrs": [0.1]}, {}], "lr_lambdas": [None]}
    assert trainer_state.scheduler_state(SimpleNamespace(state_dict=lambda: plain)) == plain
    assert trainer_state.scheduler_state(None) is None


def stage_3(length: int, **more: object) -> SimpleNamespace:
    parameter = SimpleNamespace(ds_numel=10, ds_shape=(10,), partition_numel=lambda: length)
    master = object()
    return SimpleNamespace(
        fp32_partitioned_groups_flat=[master], fp16_groups=[[parameter]], sub_group_to_group_id={0: 0},
        optimizer=SimpleNamespace(state={master: {}}), names={id(parameter): "a.weight"}, **more,
    )  # fmt: skip


def test_parts_of_fewer_than_all_ranks_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer_state, "world_size", lambda: 4)
    whole = stage_3(3)
    assert optimizer_state._of_stage_3(whole, whole.names)[0].parts[0].length == 3
    with pytest.raises(NotHeld, match=r"a\.weight is partitioned over fewer than all ranks"):
        mics = stage_3(5)  # over two ranks of four
        optimizer_state._of_stage_3(mics, mics.names)


@pytest.mark.parametrize(
    "more", [{"backup_optimizer": 1}, {"superoffload_cpu_optimizer": 1}, {"zenflow": True}]
)
def test_moments_that_are_elsewhere_are_not_held(
    more: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimizer_state, "world_size", lambda: 4)
    hybrid = stage_3(3, **more)
    with pytest.raises(NotHeld, match=r"not in zero\.optimizer"):
        optimizer_state._of_stage_3(hybrid, hybrid.names)


@pytest.mark.parametrize("ours", [True, False])
def test_a_checkpoint_of_ours_does_not_bring_back_its_micro_batch(ours: bool) -> None:
    asked: list[int] = []

    def stock(_trainer: object, batch_size: int, **_more: object) -> None:
        asked.append(batch_size)

    loop = trainer_checkpoints.with_own_batch(stock)
    arguments = SimpleNamespace(auto_find_batch_size=False, train_batch_size=2)
    trainer = SimpleNamespace(args=arguments, _train_batch_size=4)
    setattr(trainer, trainer_checkpoints.OURS, ours)
    loop(trainer, batch_size=4, resume_from_checkpoint="checkpoint-3")
    arguments.auto_find_batch_size = True
    loop(trainer, batch_size=4)
    assert asked == ([2, 4] if ours else [4, 4])


def test_an_adapter_of_another_name_is_not_where_a_resume_reads() -> None:
    assert trainer_checkpoints.has_default(SimpleNamespace(peft_config={"default": 1, "reference": 2}))
    assert not trainer_checkpoints.has_default(SimpleNamespace(peft_config={"sft": 1}))


@pytest.mark.training
@pytest.mark.parametrize(("saved", "micro_steps"), [(2, 6), (4, 12), (None, 12)])
def test_the_place_within_an_accumulation_is_that_of_this_run(saved: int | None, micro_steps: int) -> None:
    """Two ranks with an accumulation of 2 took 6 micro steps in 3 steps; one rank goes on with 2 or with 4."""
    here = 2 if saved == 2 else 4
    optimizer = SimpleNamespace(optimizer=SimpleNamespace(param_groups=[]), loss_scaler=SimpleNamespace())
    engine = SimpleNamespace(optimizer=optimizer, gradient_accumulation_steps=lambda: here, lr_scheduler=None)
    counters = {"global_steps": 3, "global_samples": 12, "skipped_steps": 0, "micro_steps": 6}
    data = {"scalars": [], "groups": [], "loss_scale": {}, "engine": counters, "scheduler": None}
    if saved == 4:
        data["accumulation"] = 2
    elif saved:
        data["accumulation"] = saved
    trainer_state._load_numbers(engine, (), data)
    assert engine.micro_steps == micro_steps and engine.global_steps == 3
