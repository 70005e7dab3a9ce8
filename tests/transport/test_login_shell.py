"""What a login shell makes of our words, and what its own words are taken for: every shell that users have."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from allranks.node import bundle
from allranks.transport import answer_marks
from allranks.transport.base import Completed, Unreachable

END = answer_marks.new_end()
SHELLS = ("sh", "bash", "zsh", "tcsh", "fish")
HOSTILE = ["a b", "$HOME", "`id`", "x;y", "'\"", "*", "", "-n", "new\nline", "!!", "a!b", "\\", "\\n\\0101"]
HOSTILE += ["'\\''", "~", "%s", "# no comment", "\r", "ä€", "{a,b}", "=ls", "^a^b"]
ARGV = [sys.executable, "-c", "import json, sys; print(json.dumps([sys.argv[1:], sys.stdin.read()]))"]


def under(name: str, line: str, stdin: bytes = b"", home: Path | None = None, **more: str) -> Completed:
    """What sshd does: the user's shell with -c and one line. fish makes folders in its home, so it gets one."""
    path = shutil.which(name)
    if path is None:
        absent = pytest.fail if os.environ.get("CI") else pytest.skip
        absent(f"{name} is not installed: scripts/system.sh {name}")
    with tempfile.TemporaryDirectory() as empty:
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home or empty), **more}
        done = subprocess.run([path, "-c", line], input=stdin, capture_output=True, timeout=60, env=env)
    return Completed(done.returncode, done.stdout, done.stderr)


def line(argv: list[str]) -> str:
    return answer_marks.line(argv, END)


def own(done: Completed, stdin: bytes = b"") -> Completed:
    return answer_marks.own("node2", done, stdin, END)


@pytest.mark.parametrize("name", SHELLS)
def test_hostile_words_arrive_as_they_are_under_every_shell(name: str) -> None:
    done = own(under(name, line([*ARGV, *HOSTILE]), b"in"))
    assert json.loads(done.out) == [HOSTILE, "in"] and done.code == 0


@pytest.mark.parametrize("name", SHELLS)
def test_the_node_program_runs_under_every_shell(name: str, home: Path) -> None:
    bundle.install()
    words = line([sys.executable, *bundle.command("read", "runs")])
    assert "\n" not in words and "!" not in words
    done = own(under(name, words, ALLRANKS_HOME=str(home)))
    assert (done.code, json.loads(done.out), done.err) == (0, {"runs": []}, b"")


@pytest.mark.parametrize("name", SHELLS)
def test_the_exit_code_is_the_commands_own(name: str) -> None:
    assert own(under(name, line(["sh", "-c", "exit 7"]))).code == 7
    assert own(under(name, line(["no-such-program"]))).code == 127


def test_a_command_in_a_launchers_hands_is_marked_without_a_login_shell() -> None:
    done = subprocess.run(answer_marks.words([*ARGV, *HOSTILE]), input=b"in", capture_output=True, timeout=60)
    own = answer_marks.own("n", Completed(done.returncode, b"print of a prologue\n" + done.stdout, b""))
    assert json.loads(own.out) == [HOSTILE, "in"]


# ---- start files that print, or never come to the line ----


def rc(tmp_path: Path, name: str, text: str) -> dict[str, str]:
    """Start files that a shell with -c reads."""
    path = tmp_path / {"bash": "bashenv", "tcsh": ".tcshrc", "zsh": ".zshenv"}[name]
    path.write_text(text)
    return {"BASH_ENV": str(path)} if name == "bash" else {}


@pytest.mark.parametrize("name", ["bash", "tcsh", "zsh"])
@pytest.mark.parametrize("noise", ["echo Welcome to gpu02", "printf 'no newline'", 'echo "{}"; echo "[1]"'])
def test_what_start_files_print_is_no_part_of_the_answer(tmp_path: Path, name: str, noise: str) -> None:
    more = rc(tmp_path, name, noise + "\n")
    done = under(name, line([*ARGV, "x"]), b"in", tmp_path, **more)
    assert not done.out.startswith(answer_marks.MARK)
    assert json.loads(own(done).out) == [["x"], "in"]


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_a_shell_that_prints_its_commands_does_not_print_the_mark(tmp_path: Path, name: str) -> None:
    more = rc(tmp_path, name, "exec 2>&1; set -xv\n")
    assert json.loads(own(under(name, line([*ARGV, "x"]), b"in", tmp_path, **more)).out)


REQUEST = b'{"key": "0123456789abcdef", "secrets": {"HF_TOKEN": "hf_secret"}}'


@pytest.mark.parametrize("name", ["bash", "tcsh", "zsh"])
@pytest.mark.parametrize("before", ["", "echo Hello;", "printf Hello;"])
def test_a_request_that_is_echoed_back_is_no_answer_and_is_not_shown(
    tmp_path: Path, name: str, before: str
) -> None:
    more = rc(tmp_path, name, f"{before} exec cat\n")
    done = under(name, line(ARGV), REQUEST, tmp_path, **more)
    assert REQUEST in done.out and done.code == 0
    with pytest.raises(Unreachable, match="its login shell prints what it is given") as caught:
        own(done, REQUEST)
    assert "hf_secret" not in str(caught.value) and "0123456789abcdef" not in str(caught.value)


def test_a_shell_that_never_comes_to_the_command_says_what_it_prints(tmp_path: Path) -> None:
    more = rc(tmp_path, "bash", "echo Only for staff; echo no >&2; exit 3\n")
    with pytest.raises(
        Unreachable, match=r"its login shell prints 'Only for staff' .*\(exit code 3\): no"
    ) as c:
        own(under("bash", line(ARGV), home=tmp_path, **more))
    assert c.value.cause == "login-shell" and ".bashrc" in c.value.text and c.value.node == "node2"


def test_a_silent_shell_is_told_by_its_exit_code() -> None:
    with pytest.raises(Unreachable, match=r"its login shell does not run the command \(exit code 1\)\. Look"):
        answer_marks.own("n", Completed(1, b"", b""))


# ---- lines as they come ----


def listen(given: list[bytes], stdin: bytes = b"", end: str | None = None) -> list[bytes]:
    async def lines() -> AsyncGenerator[bytes, None]:
        for one in given:
            yield one

    async def heard() -> list[bytes]:
        return [one async for one in answer_marks.own_lines("n", lines(), stdin, end)]

    return asyncio.run(heard())


@pytest.mark.parametrize("before", [[], [b"Welcome\n"], [b"{}\n", b"\xff\n"], [b"a\n"] * 1000])
def test_lines_before_the_mark_are_the_shells(before: list[bytes]) -> None:
    assert listen([*before, answer_marks.MARK, b"one\n", b"two\n"]) == [b"one\n", b"two\n"]
    assert listen([*before, b"no newline" + answer_marks.MARK, b"one\n", answer_marks.MARK]) == [
        b"one\n",
        answer_marks.MARK,
    ]


def test_lines_that_end_before_the_command_are_a_lost_connection() -> None:
    came = [answer_marks.MARK, b"one\n"]
    assert listen([*came, f"two{END}0\n".encode(), b"of another process\n"], end=END) == [b"one\n", b"two"]
    assert listen([*came, f"{END}1\n".encode()], end=END) == [b"one\n"]
    for given in (came, came[:1], [*came, f"{END}1".encode()]):
        with pytest.raises(Unreachable, match="the output ended before the command") as caught:
            listen(given, end=END)
        assert caught.value.cause == "connection-lost"
    with pytest.raises(Unreachable, match="its login shell prints"):
        listen([b"Welcome\n"], end=END)


def test_lines_without_the_mark_are_an_error_and_bounded() -> None:
    with pytest.raises(Unreachable, match="its login shell prints 'Welcome'"):
        listen([b"Welcome\n"])
    with pytest.raises(Unreachable, match="its login shell prints what it is given"):
        listen([REQUEST], REQUEST)
    came = 0

    async def endless() -> AsyncGenerator[bytes, None]:
        nonlocal came
        while True:
            came += 1
            yield b"x" * 65536 + b"\n"

    async def heard() -> None:
        async for _ in answer_marks.own_lines("n", endless()):
            raise AssertionError

    with pytest.raises(Unreachable, match="its login shell prints 'xxx"):
        asyncio.run(heard())
    assert came * 65536 < 2 * answer_marks.NOISE_BYTES
