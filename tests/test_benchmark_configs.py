"""The benchmark of public configurations: the run that a JSON becomes, and what is kept of the libraries' answers."""

from __future__ import annotations

import json
import subprocess
from types import SimpleNamespace

import pytest

from benchmarks import _config_cases, _config_libraries


@pytest.mark.parametrize(
    ("config", "batch"),
    [
        ({}, (2, 1, 1)),
        ({"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}, (2, 4, 8)),
        ({"train_batch_size": 32}, (2, 16, 1)),
        ({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4}, (2, 4, 4)),
        (
            {"train_batch_size": 48, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2},
            (6, 4, 2),
        ),
        ({"train_batch_size": 3, "train_micro_batch_size_per_gpu": 2}, (2, 2, 1)),
        ({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"}, (2, 1, 1)),
    ],
)
def test_a_json_gets_the_ranks_that_its_batch_asks_for(config, batch):
    assert _config_cases.batch(config) == batch


def test_a_json_becomes_two_runs_and_a_yaml_one(tmp_path):
    files, scratch = tmp_path / "files", tmp_path / "scratch"
    files.mkdir()
    scratch.mkdir()
    (files / "a.json").write_text(json.dumps({"train_batch_size": 4, "bf16": {"enabled": True}}))
    (files / "b.json").write_text(json.dumps({"a tokenizer's": 1}))
    (files / "c.yaml").write_text("finetuning_type: lora\nstage: sft\ndeepspeed: ds_z2.json\n")
    cases = list(_config_cases.found(files, scratch, None))
    assert [case.kind for case in cases] == [_config_cases.JSON, _config_cases.SCRIPT, _config_cases.YAML]
    assert cases[2].json is not None and cases[2].json["zero_optimization"]["stage"] == 2
    assert "deepspeed" not in cases[2].content[0] and not any(case.bad for case in cases)


def test_what_was_answered_is_not_asked_again(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout='{"torch": "1"}'))
    asked = []
    monkeypatch.setattr(_config_libraries, "answer", lambda _, question: asked.append(question) or "no")
    monkeypatch.setattr(_config_libraries.Libraries, "_started", lambda *_: SimpleNamespace())
    question = {"ranks": 2, "yaml": "/tmp/one/arguments.yaml"}
    first = _config_libraries.Libraries("python", tmp_path)
    assert first.read(question, ["stage: sft"]) == "no"
    again = _config_libraries.Libraries("python", tmp_path, only_kept=True)
    assert again.read({**question, "yaml": "/tmp/other/arguments.yaml"}, ["stage: sft"]) == "no"
    assert len(asked) == 1
    with pytest.raises(_config_libraries.NotAsked):
        again.read(question, ["stage: pt"])
