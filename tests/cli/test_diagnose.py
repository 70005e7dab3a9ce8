"""The verb `diagnose` on files, folders and standard input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allranks import cli

CRASH = """[rank0]: step 1 loss 3.1
[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 3, in <module>
[rank1]: ModuleNotFoundError: No module named 'tensorboard'
"""
FINE = "\n".join(f"[rank{r}]: step {s} loss {3 - s / 10}" for s in range(9) for r in range(2)) + "\n"


def test_a_cause_is_named_with_its_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.log").write_text(CRASH)
    assert cli.main(["diagnose", str(tmp_path), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["cause"] == "missing-python-module"
    assert answer["where"]["rank"] == 1


def test_a_healthy_log_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.log").write_text(FINE)
    assert cli.main(["diagnose", str(tmp_path / "run.log")]) == 0
    assert "nothing is wrong" in capsys.readouterr().out


def test_what_is_no_path_and_no_run_is_bad_input(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diagnose", "no-such-run"]) == 2
    assert "no-such-run" in capsys.readouterr().err


def test_a_folder_without_logs_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diagnose", str(tmp_path)]) == 2
    assert "no log" in capsys.readouterr().err
