"""What a shell completes, asked as argcomplete's scripts ask it."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from allranks.cli import build_parser, completion, verb_names

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who started one run and has an SSH configuration."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ALLRANKS_HOME", str(tmp_path / "home"))
    index = tmp_path / "home" / "index"
    index.mkdir(parents=True, mode=0o700)
    (tmp_path / "home").chmod(0o700)
    entry = {"id": "demo-1122-abcd", "created_at": 1.0, "nodes": [{"name": "node1"}, {"name": "gpu7"}, 3]}
    (index / "demo-1122-abcd.json").write_text(json.dumps(entry))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host login *.lan\n  User me\nHost=gpu7\nHost node9 !bad\n")
    (tmp_path / "run.yaml").write_text("nodes: a\n")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def completers(*words: str) -> argparse.ArgumentParser:
    parser = build_parser()
    completion.attach(parser)
    for word in words:
        (group,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
        parser = group.choices[word]
    return parser


def completed(parser: argparse.ArgumentParser, name: str, prefix: str = "") -> list[str]:
    action = next(a for a in parser._actions if name in (a.dest, *a.option_strings))
    found = action.completer(prefix=prefix, action=action, parser=parser)  # type: ignore[attr-defined]
    return [word for word in found if completion.matches(word, prefix)]


def test_runs_complete_by_id_and_by_run_file(home: Path) -> None:
    assert completed(completers("stop"), "run", "de") == ["demo-1122-abcd"]
    assert completed(completers("watch"), "run", "") == ["demo-1122-abcd", "home/", "models/", "run.yaml"]
    assert completed(completers("watch"), "run", f"{home}/r") == [f"{home}/run.yaml"]


def test_a_checkpoint_may_be_any_path(home: Path) -> None:
    assert "notes.txt" in completed(completers("checkpoints", "verify"), "path", "n")


def test_findings_and_nodes_complete(home: Path) -> None:
    assert "gpu-ecc" in completed(completers("explain"), "ids", "gpu-")
    assert "gpu-ecc" in completed(completers("check"), "--accept", "gpu-")
    assert completed(completers("ssh-keys"), "nodes") == ["node1", "gpu7", "login", "node9"]
    assert completed(completers("logs"), "--node") == ["node1", "gpu7"]


def test_every_run_of_every_verb_completes() -> None:
    parser = build_parser()
    completion.attach(parser)
    (group,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    named = {
        name: [a for a in verb._actions if a.dest in ("run", "runs")] for name, verb in group.choices.items()
    }
    assert set(group.choices) == set(verb_names())
    assert all(hasattr(action, "completer") for actions in named.values() for action in actions)


def test_an_unreadable_folder_completes_nothing(tmp_path: Path) -> None:
    assert completion.paths(str(tmp_path / "no" / "x"), ()) == []
    assert completion.ssh_hosts(tmp_path / "no") == []


def answers(home: Path, line: str) -> list[str]:
    """What argcomplete's own protocol gives for a command line."""
    out = home / "answers"
    env = {
        **os.environ,
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(out),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    done = subprocess.run(
        [sys.executable, "-m", "allranks.cli"], env=env, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("", "")
    return [word.strip() for word in out.read_text().split("\n")]


def test_the_program_answers_a_shell(home: Path) -> None:
    assert answers(home, "allranks stop demo-") == ["demo-1122-abcd"]


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("bash", ["bash", "-n", "{}"]),
        ("zsh", ["zsh", "-n", "{}"]),
        ("fish", ["fish", "--no-execute", "{}"]),
    ],
)
def test_each_shell_reads_its_script(shell: str, words: list[str], tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_text(completion.script(shell))
    subprocess.run([word.format(file) for word in words], check=True)


@pytest.mark.lengthy
def test_fish_completes_a_run(home: Path) -> None:
    """fish asks for completions without a terminal; the program is the one of this environment."""
    bin_ = home / "bin"
    bin_.mkdir()
    (bin_ / "allranks").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m allranks.cli "$@"\n')
    (bin_ / "allranks").chmod(0o755)
    (home / "script.fish").write_text(completion.script("fish"))
    line = f"source {home}/script.fish; complete -C 'allranks stop demo-'"
    env = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"}
    done = subprocess.run(["fish", "-c", line], env=env, capture_output=True, text=True, check=True)
    assert "demo-1122-abcd" in done.stdout
