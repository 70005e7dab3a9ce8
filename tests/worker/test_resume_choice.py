"""Which trainer of a script goes on from the checkpoint that the keeper chose."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest

from allranks.worker import resume_choice, trainer_checkpoints


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runs" / "sft-1123-bbbb"
    folder.mkdir(parents=True)
    monkeypatch.setenv("ALLRANKS_OUTPUT_DIR", str(folder))
    monkeypatch.setenv("ALLRANKS_RUN_ID", "sft-1123-bbbb")
    monkeypatch.setattr(resume_choice, "_given", [])
    monkeypatch.setattr(resume_choice, "_done", [])
    return folder


def choose(output: Path, path: Path) -> str:
    (output / resume_choice.CHOICE).write_text(json.dumps({"from": str(path)}))
    return str(path)


def trained(*folders: Path) -> list[object]:
    """What trainers with these folders, one after another in one process, go on from."""
    seen: list[object] = []
    train = trainer_checkpoints.training(lambda self, resume, *more: seen.append(resume))
    for folder in folders:
        train(types.SimpleNamespace(args=types.SimpleNamespace(output_dir=str(folder))))
    return seen


def test_a_checkpoint_of_this_run_is_for_the_trainer_that_saved_it(output: Path) -> None:
    first, second = output, output / "dpo"
    of_first = choose(output, first / "checkpoint-1000")
    assert trained(first, second) == [of_first, None]
    of_second = choose(output, second / "checkpoint-10")
    assert trained(first, second) == [None, of_second]
    of_third = choose(output, second / "checkpoint-20")
    assert trained(second, second) == [of_third, None], "the second one continues what the first has trained"


def test_a_training_that_was_over_leaves_the_choice_to_the_next_of_its_folder(output: Path) -> None:
    """Two stages in one folder: the first has nothing left to train when the second one's checkpoint is chosen."""
    checkpoint = output / "checkpoint-40"
    checkpoint.mkdir()
    (checkpoint / "trainer_state.json").write_text('{"global_step": 40}')
    choice, seen = choose(output, checkpoint), []
    train = trainer_checkpoints.training(lambda self, resume, *more: seen.append(resume))
    for step in (40, 60, 80):
        state = types.SimpleNamespace(global_step=step)
        train(types.SimpleNamespace(args=types.SimpleNamespace(output_dir=str(output)), state=state))
    assert seen == [choice, choice, None]


@pytest.mark.parametrize("is_llamafactory", [True, False])
def test_where_the_keeper_found_nothing_llamafactory_finds_nothing_either(
    output: Path, tmp_path: Path, is_llamafactory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLaMA-Factory takes the newest checkpoint of the folder by itself, damaged or not."""
    if is_llamafactory:
        monkeypatch.setitem(sys.modules, "llamafactory", types.ModuleType("llamafactory"))
    (output / resume_choice.CHOICE).write_text('{"from": null}')
    seen: list[object] = []
    train = trainer_checkpoints.training(lambda self, resume, *more: seen.append(resume))
    trainer = types.SimpleNamespace(args=types.SimpleNamespace(output_dir=str(output)))
    own, other = str(output / "checkpoint-40"), str(tmp_path / "base" / "checkpoint-9")
    train(trainer, own)
    train(trainer, other)
    assert seen == [None if is_llamafactory else own, other]


def test_a_loop_takes_only_the_choice_of_its_own_folder(output: Path) -> None:
    choice = choose(output, output / "checkpoint-1000")
    assert resume_choice.chosen_in(str(output / "dpo")) is None
    assert resume_choice.chosen_in(str(output)) == choice


def test_one_from_elsewhere_is_for_the_first_trainer(output: Path, tmp_path: Path) -> None:
    of_earlier = choose(output, tmp_path / "runs" / "sft-1122-aaaa" / "checkpoint-20")
    assert trained(output, output / "dpo") == [of_earlier, None]


def test_a_folder_by_another_name_is_the_same_folder(output: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(output)
    of_this = choose(output, output / "checkpoint-20")
    assert trained(tmp_path / "link") == [of_this]


def test_without_a_choice_or_outside_of_a_run_the_script_decides(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert trained(output) == [None]
    choose(output, output / "checkpoint-20")
    monkeypatch.delenv("ALLRANKS_RUN_ID")
    assert trained(output) == [None]
