"""A command of the user's on a node: what it prints, how it ends, and that nothing of it is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from allranks.core import BadInput
from allranks.node import command
from tests.harness import ROOT, until

CALL = "import sys; from allranks.node import program; sys.exit(program.main(['command']))"


def called(*argv: str, seconds: float = 60.0) -> dict:
    """The verb in a process of its own, since it adopts what loses its parent."""
    done = subprocess.run(
        [sys.executable, "-c", CALL],
        input=json.dumps({"argv": argv, "seconds": seconds}).encode(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_both_outputs_and_the_code_are_told_as_they_came() -> None:
    answer = called("sh", "-c", "echo one; echo two >&2; echo three; exit 7")
    assert (answer["code"], answer["output"], answer["timed_out"]) == (7, "one\ntwo\nthree\n", False)


def test_a_word_is_a_word_and_no_shell_looks_at_it() -> None:
    assert called("echo", "$HOME", "a b", ";", "*")["output"] == "$HOME a b ; *\n"


def test_what_cannot_be_started_ends_as_in_a_shell(tmp_path: Path) -> None:
    (tmp_path / "shut").write_text("x")
    assert called("no-such-program")["code"] == 127
    answer = called(str(tmp_path / "shut"))
    assert answer["code"] == 126 and "Permission denied" in answer["output"]


def test_a_signal_is_told_as_a_negative_code() -> None:
    assert called("sh", "-c", "kill -9 $$")["code"] == -9


@pytest.mark.lengthy
def test_a_command_whose_time_is_over_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    script = (
        f"echo begun; sleep 1000 & echo $! > {tmp_path}/a; setsid sleep 1000 & echo $! > {tmp_path}/b; wait"
    )
    answer = called("sh", "-c", script, seconds=4)
    assert (answer["code"], answer["timed_out"], answer["output"]) == (None, True, "begun\n")
    for name in "ab":
        assert not Path("/proc", (tmp_path / name).read_text().strip()).exists()


@pytest.mark.lengthy
def test_a_command_that_ignores_sigterm_is_killed() -> None:
    answer = called("sh", "-c", "trap 'echo heard' TERM; while :; do sleep 0.1; done", seconds=3)
    assert answer["timed_out"] and "heard" in answer["output"]


def test_a_command_ends_when_nobody_waits_for_its_answer(tmp_path: Path) -> None:
    asked = subprocess.Popen(
        [sys.executable, "-c", CALL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert asked.stdin is not None and asked.stdout is not None
    script = f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; sleep 1000"
    asked.stdin.write(json.dumps({"argv": ["sh", "-c", script], "seconds": 1000}).encode())
    asked.stdin.close()
    until((tmp_path / "pid").exists)
    asked.stdout.close()
    asked.wait(60)
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


@pytest.mark.lengthy
def test_what_is_left_running_holds_no_answer_up() -> None:
    answer = called("sh", "-c", "sleep 1000 & echo $!; exit 0")
    os.kill(int(answer["output"]), signal.SIGKILL)  # it lives on, as the command wanted
    assert (answer["code"], answer["timed_out"]) == (0, False)


def test_the_beginning_and_the_end_of_a_long_output_are_kept() -> None:
    kept = command.Kept(20)
    for number in range(100):
        kept.add(b"%03d " % number)
    assert kept.text() == "000 001 00\n[380 bytes left out]\n7 098 099 "
    whole = command.Kept(20)
    whole.add(b"x" * 20)
    assert (whole.text(), whole.left_out) == ("x" * 20, 0)


@pytest.mark.parametrize(
    "wanted",
    [{}, {"argv": [], "seconds": 1}, {"argv": "ls", "seconds": 1}, {"argv": [1], "seconds": 1}]
    + [{"argv": ["ls"], "seconds": seconds} for seconds in (None, 0, -1, "9", float("nan"))],
)
def test_a_request_that_is_not_whole_starts_nothing(wanted: dict) -> None:
    with pytest.raises(BadInput):
        command.run(wanted, lambda: False)
