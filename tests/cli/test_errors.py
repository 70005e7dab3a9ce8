"""What the command line says when something is wrong: the exit code, and one document with --json."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from allranks import cli
from allranks.cli.verbs import ps
from allranks.node.facts._reading import Unreadable


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALLRANKS_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def unread() -> dict:
    raise Unreadable("nvidia-smi did not answer within 15 s")


def run(*words: str) -> int:
    try:
        return cli.main(list(words))
    except SystemExit as exit_:
        return int(exit_.code or 0)


@pytest.mark.parametrize(
    "words",
    [
        ["ps", "extra"],
        ["logs", "--tail", "-5"],
        ["init", "--gpus", "0"],
        ["init", "-o", "no/such/folder/run.yaml"],
        ["explain", "no-such-id"],
        ["plan", "no.yaml"],
        ["stop"],
    ],
)
def test_bad_input_is_one_document_with_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words, "--json") == 2
    assert json.loads(capsys.readouterr().out)["problems"][0]["saw"]


@pytest.mark.parametrize(
    ("seen", "written"),
    [
        (lambda: {"list": [{}] * 8}, "gpus: 8 "),
        (lambda: {"list": []}, "gpus: {count: 1, model: cpu} "),
        (unread, "could not be counted"),
    ],
)
def test_init_counts_the_gpus_of_this_machine(seen, written, monkeypatch, capsys) -> None:
    monkeypatch.setattr("allranks.node.facts.gpus.query", seen)
    assert cli.main(["init", "-o", "-"]) == 0
    assert written in capsys.readouterr().out


@pytest.mark.parametrize("words", [["explain"], ["explain", "port-held"], ["init", "-o", "-"]])
def test_every_answer_is_one_document_with_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words, "--json") == 0
    assert isinstance(json.loads(capsys.readouterr().out), dict)


def test_a_fault_of_ours_is_exit_code_4(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_options: object) -> int:
        raise RuntimeError("planted")

    monkeypatch.setattr(ps, "call", broken)
    assert run("ps", "--json") == 4
    printed = capsys.readouterr()
    assert "planted" in json.loads(printed.out)["error"]
    assert "Traceback" in printed.err


def test_an_aborted_verb_is_one_document_with_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(ps, "call", interrupted)
    assert run("ps", "--json") == 1
    assert json.loads(capsys.readouterr().out)["error"] == "aborted"


@pytest.mark.parametrize("option", ["--accept", "--only", "--skip"])
def test_a_misspelt_id_is_not_passed_over(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.yaml").write_text("nodes: localhost\ngpus: 1\ntrain: {command: [t.py]}\n")
    (tmp_path / "t.py").write_text("")
    (tmp_path / "facts").mkdir()
    assert run("check", "run.yaml", "--facts", "facts", option, "port-hled") == 2
    assert "port-held" in capsys.readouterr().err


def test_a_closed_pipe_is_said_by_nobody() -> None:
    code = "import sys; from allranks import cli; sys.exit(cli.main(['explain']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_a_home_that_cannot_be_written_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALLRANKS_HOME", "/dev/null/home")
    assert run("ps") == 3
    said = capsys.readouterr().err
    assert "/dev/null/home" in said and "ALLRANKS_HOME" in said and "{" not in said


def test_a_fault_of_ours_is_told_without_escape_codes_of_a_node(monkeypatch, capsys) -> None:
    def broken(_options: object) -> int:
        raise RuntimeError("a node said \x1b[2J\x1b]0;owned\x07")

    monkeypatch.setattr(ps, "call", broken)
    assert run("ps") == 4
    said = capsys.readouterr().err
    assert "RuntimeError" in said and "\x1b" not in said and "\x07" not in said


def test_the_comment_of_a_new_run_file_names_that_file(tmp_path: Path) -> None:
    assert run("init", "-o", "job.yaml", "a,b") == 0
    text = (tmp_path / "job.yaml").read_text()
    assert "allranks check job.yaml" in text and "run.yaml" not in text


@pytest.mark.parametrize("words", [["ps"], ["watch"], ["logs"]])
def test_a_node_that_cannot_be_reached_is_named_once_with_its_fix(home, capsys, words) -> None:
    assert cli.main([*words, "--nodes", "nosuch.invalid"]) == 3
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("nosuch.invalid: its name does not resolve") and "port 22" in said[0]
    assert said[1].startswith("  fix  correct the name") and len(said) == 2


@pytest.mark.parametrize("words", [["explain"], ["explain", "--json"], ["explain", "cuda-oom"]])
def test_an_output_that_is_full_is_said_and_is_no_fault_of_ours(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "allranks.cli", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "the output cannot be written: No space left on device\n")
