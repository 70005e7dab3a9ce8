"""Passwords and keys in scripts and commands: no message shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from allranks.core import BadInput
from allranks.spec import Run, Typed, load_typed, loads
from allranks.spec.problems import shown
from allranks.spec.shown_command import shown_command

KEY = "0123456789abcdef0123456789abcdef01234567"
TORCHRUN = "torchrun --nproc_per_node 2 train.py"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(script: str) -> Run:
    Path("train.sh").write_text(script + "\n")
    return load_typed(Typed(words=("bash", "train.sh")))


@pytest.mark.parametrize(
    "command",
    [
        f"wandb login {KEY}",
        f"wandb login --relogin {KEY}",
        f"swanlab auth {KEY}",
        f"/opt/bin/wandb_login.sh --wandb-key {KEY}",
        "git clone https://user:hunter2@example.com/x.git",
        "huggingface-cli login --token hunter2",
        "sshpass -p hunter2 ssh -p 22 node1",
        "sshpass -phunter2 ssh node1",
        "mysql -phunter2 runs",
        "notify --api-key=hunter2",
        "notify --password 'a hunter2'",
        "docker login -u me -p hunter2",
        "curl -H 'Authorization: Bearer hunter2' https://example.com",
        "curl -u me:hunter2 https://example.com",
        "curl 'https://example.com/?token=hunter2'",
    ],
)
def test_the_secrets_of_a_command_that_is_left_out_are_hidden(command: str) -> None:
    (note,) = [note for note in read(f"{command}\n{TORCHRUN}").notes if note.id == "shell-left-out"]
    assert "(hidden)" in note.saw and "hunter2" not in str(note) and KEY not in str(note)
    with pytest.raises(BadInput) as error:
        load_typed(Typed(words=(f"{command} && {TORCHRUN}; {command}",)))
    assert "hunter2" not in str(error.value) and KEY not in str(error.value)


@pytest.mark.parametrize(
    "command",
    [
        f"git checkout {KEY}",
        f"git clone --revision {KEY} https://example.com/x.git",
        f"huggingface-cli download org/model --revision {KEY}",
        "mkdir -p out/a out/b",
        "ssh -p 22 node1 true",
        "python -m pip install --tokenizer x",
        "ssh git@example.com:x/y",
        "HF_TOKEN=$TOKEN",
    ],
)
def test_what_is_no_secret_is_shown(command: str) -> None:
    assert shown_command(command) == command
    assert shown(command, 200) == command


@pytest.mark.parametrize("words", [f"[--wandb_key, {KEY}]", f"[--wandb_key={KEY}]", f"[wandb.key={KEY}]"])
def test_a_key_in_the_trainings_arguments_is_refused(words: str) -> None:
    with pytest.raises(BadInput, match="looks like an access token") as error:
        loads(f"nodes: localhost\ntrain: {{command: [train.py, {words[1:-1]}]}}\n")
    assert KEY not in str(error.value)


@pytest.mark.parametrize("words", [f"--revision, {KEY}", f"--commit={KEY}", f"--wandb_key, x, {KEY}", KEY])
def test_a_commit_in_the_trainings_arguments_is_fine(words: str) -> None:
    run = loads(f"nodes: localhost\ntrain: {{command: [train.py, {words}]}}\n")
    assert run.train.command[-1].endswith(KEY)
