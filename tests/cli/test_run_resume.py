"""`run --resume` is the run file's `resume` for one run."""

from __future__ import annotations

from pathlib import Path

from allranks import spec
from allranks.cli.verbs.run import resume_of

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plain-deepspeed.yaml"


def resumed(text: str) -> str | None:
    run = spec.load(str(EXAMPLE), sets=[f"resume={resume_of(text)}"])
    return run.resume


def test_auto_and_a_path_of_the_callers(tmp_path, monkeypatch):
    (tmp_path / "a: b").mkdir()
    monkeypatch.chdir(tmp_path)

    assert resumed("auto") == "auto"
    assert resumed("a: b") == str(tmp_path / "a: b")
    assert resumed("/on/the/head/checkpoint-5") == "/on/the/head/checkpoint-5"
