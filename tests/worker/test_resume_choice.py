"""Which trainer of a script goes on from the checkpoint that the keeper chose."""

from __future__ import annotations

import json
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
    assert trained(second, second) == [of_second, of_second]


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
