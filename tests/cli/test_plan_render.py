"""`plan --render`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allranks.cli import main
from allranks.spec.launchers import names

RUN = 'nodes: {a: 10.0.0.1, b: 10.0.0.2}\ngpus: 2\ntrain: {command: [train.py, "it\'s"]}\n'


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "run.yaml"
    path.write_text(RUN)
    return str(path)


def test_the_option_offers_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["plan", "--help"])
    assert "{" + ",".join(names()) + "}" in "".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("target", [name for name in names() if name != "kubernetes"])
def test_it_writes_the_files_and_names_them(file: str, tmp_path: Path, capsys, home, target: str) -> None:
    out = tmp_path / "out"
    assert main(["plan", file, "--render", target, "-o", str(out), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["rendered"]
    assert written["target"] == target
    assert written["files"] == sorted(path.name for path in out.iterdir())
    assert main(["plan", file, "--render", target, "-o", str(out)]) == 0
    assert "README.md" in capsys.readouterr().out


def test_the_two_options_go_together(file: str, tmp_path: Path, capsys, home) -> None:
    assert main(["plan", file, "--render", "slurm"]) == 2
    assert main(["plan", file, "-o", str(tmp_path / "out")]) == 2
    assert "go together" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_blocked_plan_is_not_written(tmp_path: Path, capsys, home) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(
        RUN.replace("gpus: 2", "gpus: {count: 2, model: A100}") + "env: {CUDA_VISIBLE_DEVICES: '0,0'}\n"
    )
    out = tmp_path / "out"
    code = main(["plan", str(path), "--render", "torchrun", "-o", str(out)])
    assert code == 1
    assert not out.exists()
    assert "Nothing was written" in capsys.readouterr().out


@pytest.mark.lengthy  # a model of 44,544 modules
def test_scripts_run_without_lockstep_and_are_planned_so(root: Path, tmp_path: Path, capsys, home) -> None:
    out, example = tmp_path / "out", str(root / "examples" / "deepseek-v3-24xa100.yaml")
    assert main(["plan", example, "--render", "torchrun", "-o", str(out)]) == 0
    assert "too close: 80.7 GiB" in capsys.readouterr().out
    written = json.loads((out / "deepspeed.json").read_text())
    assert written["zero_optimization"]["stage3_allgather_sequential"], "a leaf's tensors one by one"
    assert "no effect here: `environment.loader`, `train.experts`" in (out / "README.md").read_text()
