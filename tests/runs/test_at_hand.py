"""What this machine knows of a run before a node is asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from allranks.plan import make_plan
from allranks.runs import at_hand
from allranks.spec import Gpus, Launch, Run, Train
from allranks.words import Cluster, Node


def a_run(folder: Path, launch: str = "local", command: tuple[str, ...] = (), **arguments) -> Run:
    given = {"dataset_dir": str(folder), **arguments}
    train = Train("command", command=command) if command else Train("llamafactory", given)
    nodes = Cluster((Node("a", "127.0.0.1", 0, 8),))
    return Run(
        "x",
        nodes,
        train,
        file=str(folder / "run.yaml"),
        launch=Launch(launch),
        gpus=Gpus(8, "A100-SXM4-80GB"),
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    info = {
        "lines": {"file_name": "lines.jsonl"},
        "array": {"file_name": "array.json"},
        "hub": {"hf_hub_url": "x/y"},
        "gone": {"file_name": "gone.jsonl"},
        "table": {"file_name": "t.parquet"},
    }
    (tmp_path / "dataset_info.json").write_text(json.dumps(info))
    (tmp_path / "lines.jsonl").write_text('{"a": 1}\n\n{"a": 2}\n{"a": 3}')
    (tmp_path / "array.json").write_text(json.dumps([{}] * 10))
    (tmp_path / "t.parquet").write_bytes(b"x")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ({"dataset": "lines"}, 3),
        ({"dataset": "lines,array"}, 13),
        ({"dataset": "lines, array", "max_samples": 5}, 8),
        ({"dataset": "array", "val_size": 0.2}, 8),
        ({"dataset": "array", "val_size": 4}, 6),
        ({"dataset": "lines,hub"}, None),
        ({"dataset": "gone"}, None),
        ({"dataset": "table"}, None),
        ({"dataset": "unheard"}, None),
        ({}, None),
    ],
)
def test_samples_are_counted_where_all_files_are_here(data: Path, arguments: dict, count: int | None) -> None:
    assert at_hand.samples_of(a_run(data, **arguments)) == count


def test_a_relative_script_on_other_machines_is_a_warning(tmp_path: Path) -> None:
    (finding,) = at_hand.script_findings(a_run(tmp_path, "ssh", ("train.py",)))
    assert finding.verdict == "warn" and "relative" in finding.saw
    assert at_hand.script_findings(a_run(tmp_path, "ssh", ("/opt/train.py",))) == []
    assert at_hand.script_findings(a_run(tmp_path, "local", ("-m", "package"))) == []


def test_a_described_family_asks_nobody(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(at_hand, "_ask", lambda *_: pytest.fail("a program was started"))
    assert at_hand.described(a_run(tmp_path), {"model_type": "llama"}, sys.executable) is None
    assert at_hand.described(a_run(tmp_path), None, sys.executable) is None


def test_an_environment_that_cannot_answer_leaves_it_open(tmp_path: Path) -> None:
    config = {"model_type": "no_such_family"}
    assert at_hand.described(a_run(tmp_path), config, "/bin/false") is None
    assert at_hand.described(a_run(tmp_path), config, "/bin/echo") is None


@pytest.mark.training
def test_another_family_is_described_by_the_training_environment(tmp_path: Path) -> None:
    """olmo2 has no file here: transformers builds it on the meta device."""
    config = {"model_type": "olmo2", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3}
    config |= {"num_attention_heads": 4, "vocab_size": 320}
    run = a_run(tmp_path, lora_target="q_proj", bf16=True, per_device_train_batch_size=1)
    answer = at_hand.described(run, config, sys.executable)
    plan = make_plan(run, config, described=answer)
    assert plan.trainable_parameters == 3 * 8 * 2 * 64 and plan.memory is not None
