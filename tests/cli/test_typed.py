"""A run without a run file: what stands on the command line is what a run file would say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allranks import cli, spec

SFT = "model_name_or_path: m\nstage: sft\ndataset: d\nfinetuning_type: lora\nlora_target: all\n"


@pytest.fixture
def here(home: Path, tmp_path: Path, monkeypatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text("import torch\n")
    return folder


def told(capsys, *words: str) -> dict:
    cli.main([*words, "--json"] if "--" not in words else ["plan", "--json", *words[1:]])
    return json.loads(capsys.readouterr().out)


def test_a_command_is_planned_without_a_file(here: Path, capsys) -> None:
    assert cli.main(["plan", "--", "torchrun", "--nproc_per_node", "2", "train.py", "--x", "y"]) == 0
    said = capsys.readouterr().out
    assert "1 node, 2 ranks" in said and "command line  train.command: torchrun --nproc_per_node 2" in said


def test_a_line_in_quotes_is_read_as_a_shell_would(here: Path, capsys) -> None:
    found = told(
        capsys, "plan", "--nodes", "a", "--", "A=1 torchrun --nproc_per_node 2 train.py > log && echo done"
    )
    assert len(found["ranks"]) == 2
    assert {"launcher-dropped", "shell-left-out"} <= {one["id"] for one in found["findings"]}
    assert cli.main(["plan", "--nodes", "a", "--", "python train.py && python other.py"]) == 2
    (here / "my train.py").write_text("")
    assert len(told(capsys, "plan", "--nodes", "a", "--gpus", "2", "--", "my train.py")["ranks"]) == 2


def test_options_say_where_it_runs_and_win(here: Path, capsys) -> None:
    plan = told(capsys, "plan", "--nodes", "node[1-3]", "--gpus", "8", "--", "train.py", "--x", "y")
    assert len(plan["ranks"]) == 24 and {row["node"] for row in plan["ranks"]} == {"node1", "node2", "node3"}
    (here / "run.yaml").write_text("nodes: a\ngpus: 8\ntrain: {command: train.py}\n")
    assert len(told(capsys, "plan", "--nodes", "b[1-2]", "--gpus", "2")["ranks"]) == 4


def test_a_trainers_yaml_needs_its_machines_alone(here: Path, capsys) -> None:
    (here / "sft.yaml").write_text(SFT)
    found = told(capsys, "plan", "sft.yaml", "--nodes", "a,b", "--gpus", "8")
    assert len(found["ranks"]) == 16
    findings = told(capsys, "plan", "sft.yaml", "--nodes", "a,b")["findings"]
    assert findings[0]["id"] == "gpus-not-said"
    for name, text in (("hosts", "a slots=8\nb slots=8\n"), ("hosts.csv", "host,gpus\na,8\nb,8\n")):
        (here / name).write_text(text)
        found = told(capsys, "plan", "sft.yaml", "--nodes", name)
        assert len(found["ranks"]) == 16
        assert "gpus-not-said" not in {one["id"] for one in found["findings"]}
    (here / "hosts").write_text("a slots=8\nb\n")
    findings = told(capsys, "plan", "sft.yaml", "--nodes", "hosts")["findings"]
    assert findings[0]["id"] == "gpus-not-said"


def test_without_a_word_it_is_the_run_file_beside(here: Path, capsys) -> None:
    assert cli.main(["plan"]) == 2
    assert "there is no run.yaml here" in capsys.readouterr().err
    (here / "run.yaml").write_text("nodes: a\ngpus: 8\ntrain: {command: /x/train.py}\n")
    assert cli.main(["plan"]) == 0
    assert "8 ranks" in capsys.readouterr().out


def test_the_file_that_would_have_been_needed(here: Path, capsys) -> None:
    words = ["--cpu", "--gpus", "2", "--save-as", "run.yaml", "--", "train.py", "--x", "$;y", "1e-5"]
    assert cli.main(["plan", *words]) == 0
    run = spec.load("run.yaml")
    assert (run.on_cpu, run.gpus.count, run.train.command[1:]) == (True, 2, ("--x", "$;y", "1e-5"))
    assert cli.main(["plan", *words]) == 0  # the same once more is no other file
    (here / "run.yaml").write_text("mine: 1\n")
    capsys.readouterr()
    assert cli.main(["plan", *words]) == 2
    assert "run.yaml exists" in capsys.readouterr().err
    assert (here / "run.yaml").read_text() == "mine: 1\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan", "train.py"], "allranks run -- train.py"),
        (["plan", "train.sh"], "allranks run -- bash train.sh"),
        (["plan", "x.yaml", "--", "train.py"], "a run trains one thing"),
        (["plan", "--", "torchrun", "--nnodes", "2", "train.py"], "--nodes node[1-2]"),
        (["plan", "--save-as", "sub/run.yaml", "--", "train.py"], "--save-as run.yaml"),
        (["plan", "--"], "it names no script"),
    ],
)
def test_what_is_missing_is_said_with_the_words_that_help(here: Path, capsys, words, said: str) -> None:
    assert cli.main(words) == 2
    assert said in capsys.readouterr().err
    assert sorted(path.name for path in here.iterdir()) == ["train.py"]


@pytest.mark.parametrize("name", ["sub", "locked.yaml"])
def test_what_cannot_be_read_is_no_place_to_save(here: Path, capsys, monkeypatch, name: str) -> None:
    (here / "sub").mkdir()
    (here / "locked.yaml").write_text("mine: 1\n")
    reads = Path.read_bytes

    def locked(path: Path) -> bytes:
        if path.name == "locked.yaml":  # for root, no mode makes a file unreadable
            raise PermissionError(13, "Permission denied")
        return reads(path)

    monkeypatch.setattr(Path, "read_bytes", locked)
    assert cli.main(["plan", "--save-as", name, "--", "train.py"]) == 2
    said = capsys.readouterr().err
    assert f"--save-as {name}: {name} exists and cannot be read" in said and "fix  another name" in said


def test_a_command_without_its_dashes_is_shown_with_them(here: Path, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", "torchrun", "--nproc_per_node", "2", "train.py"])
    assert ended.value.code == 2
    assert "allranks run -- torchrun --nproc_per_node 2 train.py" in capsys.readouterr().err


@pytest.mark.lengthy
def test_a_dry_run_starts_the_ranks_where_it_was_typed(here: Path, capsys) -> None:
    cli.main(["run", "-n", "--cpu", "--", "torchrun", "--nproc_per_node=2", "train.py", "--x", "y"])
    said = capsys.readouterr().out
    assert f"cd {here}" in said and f"{here}/train.py --x y" in said and "--nproc-per-node=2" in said


def test_a_saved_run_file_has_what_was_set(here: Path, capsys) -> None:
    (here / "a.yaml").write_text("nodes: localhost\ngpus: 2\ntrain: {command: [train.py]}\n")
    assert cli.main(["plan", "a.yaml", "--set", "gpus=5", "--set", "env.A=1", "--save-as", "b.yaml"]) == 0
    run = spec.load("b.yaml")
    assert (run.gpus.count, dict(run.env)) == (5, {"A": "1"})


def test_a_word_that_is_no_text_is_refused(here: Path, capsys) -> None:
    assert cli.main(["plan", "--nodes", "localhost", "--gpus", "1", "--", "train.py", "x\udcff"]) == 2
    assert "not UTF-8" in capsys.readouterr().err
