"""The page of a checkpoint that was copied away from its run: what its own files tell, and nothing as markup."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from allranks import checkpoints, cli
from allranks.output import adapter_facts, adapter_page
from tests.checkpoints import test_kinds
from tests.checkpoints.conftest import Checkpoint
from tests.output.test_report import Page

LOG = [
    {"step": step, "loss": 6.0 - step / 10, "learning_rate": 1e-4, "grad_norm": 0.5, "epoch": step / 20}
    for step in range(1, 21)
]
ORIGIN = {
    "run": "demo-1122-abcd",
    "allranks": "0.1.0",
    "saved_at": 1_795_000_000.0,
    "settings": {"learning_rate": 1e-4, "micro_batch": 2, "schedule": "cosine"},
    "versions": {"peft": "0.18.1"},
}


@pytest.fixture
def moved(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Checkpoint:
    """A whole checkpoint on a laptop; the caller stands beside it."""
    made = Checkpoint(tmp_path / "checkpoint-20")
    made.state = {"global_step": 20, "max_steps": 40, "epoch": 1.0, "log_history": LOG}
    made.write()
    told = json.loads((made.path / "allranks.json").read_text())
    (made.path / "allranks.json").write_text(json.dumps({**told, **ORIGIN}))
    monkeypatch.chdir(tmp_path)
    return made


def page(folder: Path) -> Page:
    path = adapter_facts.chosen(str(folder))
    return Page(adapter_page.render(adapter_facts.collect(path, checkpoints.verify(path), str(folder))))


def test_it_says_what_it_is_and_how_to_use_it(moved: Checkpoint) -> None:
    found = page(moved.path)
    assert not found.wrong
    for said in (
        "LoRA adapter of rank 4 for tiny-deepseek-v3, after step 20: whole.",
        "demo-1122-abcd",
        "2026-11-18",
        "learning rate 1.00e-04",
        "5.900 → 4.000, as the trainer logged it",
        "20 of 40",
        f'model = PeftModel.from_pretrained(base, "{moved.path}")',
        f"allranks checkpoints export {moved.path} -o merged --base /models/tiny-deepseek-v3",
        "/models/tiny-deepseek-v3 is not on this machine",
        "vllm serve /models/tiny-deepseek-v3 --enable-lora --max-lora-rank 8",
        "Its training cannot continue from it: allranks-resume.json is not there.",
    ):
        assert said in found.text, said


def test_the_verb_verifies_and_writes_one_file(moved: Checkpoint, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "checkpoint-20", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["whole"], told["step"], told["run"]) == (True, 20, "demo-1122-abcd")
    assert told["loss"] == {"first": 5.9, "last": 4.0} and told["settings"]["schedule"] == "cosine"
    html = Path(told["report"]).read_text()
    assert told["report"] == "checkpoint-20-report.html" and not re.search(r'(src|href)="(?!#|data:)', html)

    moved.weights.write_bytes(moved.weights.read_bytes()[:-50])
    assert cli.main(["report", "checkpoint-20"]) == 1
    shown = capsys.readouterr()
    assert "after step 20: damaged." in shown.err and "checkpoint-altered" in shown.out + shown.err
    damaged = Path("checkpoint-20-report.html").read_text()
    assert "not whole: see the findings" in damaged and "PeftModel" not in damaged


def test_a_run_of_that_name_comes_first_and_another_machine_is_refused(
    moved: Checkpoint, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from allranks.cli import adapter_report

    monkeypatch.setattr(adapter_report, "is_run", lambda text: True)
    assert adapter_report.folder_of("checkpoint-20") is None
    assert adapter_report.folder_of("./checkpoint-20") == str(moved.path)
    assert adapter_report.folder_of("checkpoint-20/adapter_config.json") == str(moved.path)
    assert cli.main(["report", "far:/out"]) == 2
    assert "allranks checkpoints fetch far:/out TO" in capsys.readouterr().err


def test_nothing_of_the_folder_is_markup_or_an_option(moved: Checkpoint) -> None:
    evil = "<script>alert(1)</script>"
    moved.config.update(base_model_name_or_path="--trust-remote-code", task_type=evil)
    moved.state = {
        "global_step": 20,
        "log_history": [{"step": 1, "loss": evil}, {"step": evil}, 7, {"loss": 3}],
    }
    moved.write()
    told = json.loads((moved.path / "allranks.json").read_text())
    told.update(
        run=evil, settings={evil: evil, "x": [1]}, versions={evil: evil}, saved_at="now", world_size="2"
    )
    (moved.path / "allranks.json").write_text(json.dumps(told))
    (moved.path / "README.md").write_text(f"{evil}\x1b[31m")
    path = str(moved.path)
    html = adapter_page.render(adapter_facts.collect(path, checkpoints.verify(path)))
    assert evil not in html and "\x1b" not in html and html.count("<script>") == 1
    assert "&lt;script&gt;" in html and "--base BASE" in html and "vllm serve BASE" in html


@pytest.mark.parametrize("gone", ["allranks.json", "trainer_state.json"])
def test_an_older_folder_shows_what_there_is(moved: Checkpoint, gone: str) -> None:
    moved.covered.remove("trainer_state.json")
    moved.seal()
    (moved.path / gone).unlink()
    assert "LoRA adapter of rank 4 for tiny-deepseek-v3, after step 20: whole." in page(moved.path).text
    (moved.path / "trainer_state.json").write_text("{")
    assert "This report could not read: trainer_state.json" in page(moved.path).text


def test_of_a_run_s_folder_the_newest_whole_one_is_shown(moved: Checkpoint, tmp_path: Path) -> None:
    Checkpoint(tmp_path / "checkpoint-10", step=10).write()
    cut = Checkpoint(tmp_path / "checkpoint-30", step=30).write()
    cut.weights.write_bytes(cut.weights.read_bytes()[:-50])
    found = page(tmp_path)
    assert "after step 20: whole" in found.text and "Other checkpoints beside it" in found.text
    assert "step 30" in found.text and "step 10" in found.text


def test_another_kind_has_its_own_commands(tmp_path: Path) -> None:
    test_kinds.hf_model(tmp_path / "model")
    found = page(tmp_path / "model")
    assert "whole, as far as its files show." in found.text and f"vllm serve {tmp_path}/model" in found.text
    assert "PeftModel" not in found.text
