"""A command in the form that a node's login shell accepts, and the part of the output that is the command's own.

sshd gives one line to the login shell of the user: sh, bash, zsh, csh, tcsh or fish. The start files of that shell
may print (`echo Welcome` in .bashrc) or never reach the line (`exec cat`, nologin). So the line prints a mark before
it runs the command: all output before the mark comes from the shell, and if there is no mark, the command did not
run.

The start files may also leave a process in the background that keeps the output open, so that its end never comes. So
the line prints another mark after the command, with the exit code. This mark is random and new for each call, so that
no log that the command prints can contain it.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import shlex
from collections.abc import AsyncGenerator, Sequence

from allranks.transport.base import Completed, Unreachable

MARK = b"#allranks: from here on it is the command that speaks\n"

NOISE_BYTES = 1 << 20
"""The most bytes that a shell may print before the mark. If it prints more, its start files never end."""

SHOWN = 200

ENDED_EARLY = "the connection was lost: the output ended before the command"

SAY = f"echo '{MARK.decode().strip()}'; "
DO = 'eval "$(printf %b "$1")"'
SPECIAL = {ord(letter): f"\\0{ord(letter):03o}" for letter in "\\'!\n\r#"}
"""Characters that single quotes do not protect in all of these shells: csh replaces `!` from its history and does not
accept a newline, and in fish a backslash escapes a quote. `#` is the mark's first byte: because it is replaced, a
shell that prints its commands does not print the mark."""


def new_end() -> str:
    """The text that the line of one call prints after its command."""
    return f"#allranks {secrets.token_hex(8)}: the command has ended with "


def ended(end: str) -> re.Pattern[bytes]:
    """The end as it is printed, with the exit code as its group."""
    return re.compile(re.escape(end.encode()) + rb"(\d{1,3})\n")


def line(argv: Sequence[str], end: str) -> str:
    """The one line for the login shell. It starts sh, which is the same everywhere, and sh starts `argv` as a
    program, even if sh has a builtin of that name."""
    do = f"(exec {shlex.join(argv)}); code=$?; echo '{end}'$code; exit $code"
    text = (SAY + do).translate(SPECIAL)
    return f"exec sh -c '{DO}' sh '{text}'"


def words(argv: Sequence[str]) -> list[str]:
    """The same for a launcher that starts no login shell, but whose site's prologue may print (srun)."""
    return ["sh", "-c", SAY + 'exec "$@"', "sh", *argv]


def own(node: str, done: Completed, stdin: bytes = b"", end: str | None = None) -> Completed:
    """The output of the command itself and its exit code. Raises Unreachable if the shell never reached the
    command."""
    before, mark, rest = done.out.partition(MARK)
    if not mark:
        raise Unreachable(node, "login-shell", never_came(before, stdin, done))
    last = ended(end).search(rest) if end else None
    if last is not None:
        return Completed(int(last.group(1)), rest[: last.start()], done.err)
    return Completed(done.code, rest, done.err)


async def own_lines(
    node: str, lines: AsyncGenerator[bytes, None], stdin: bytes = b"", end: str | None = None
) -> AsyncGenerator[bytes, None]:
    """The lines that the command itself printed. Raises Unreachable as `own` does, and if the output ends before the
    command."""
    last = ended(end) if end else None
    before = b""
    marked = over = False
    async with contextlib.aclosing(lines):
        async for text in lines:
            found = last.search(text) if marked and last else None
            if found:
                over = True
                if found.start():
                    yield text[: found.start()]
                break
            if marked:
                yield text
            elif text.endswith(MARK):
                marked = True
            elif len(before) > NOISE_BYTES:
                break
            else:
                before += text
    if not marked:
        raise Unreachable(node, "login-shell", never_came(before, stdin))
    if last and not over:
        raise Unreachable(node, "connection-lost", ENDED_EARLY)


def never_came(noise: bytes, stdin: bytes, done: Completed | None = None) -> str:
    """The reason why there is no output of the command. It never quotes the command's standard input, which may
    contain a secret."""
    said = [text.strip() for text in noise.splitlines() if text.strip()]
    errors = [text.strip() for text in (done.err if done else b"").splitlines() if text.strip()]
    if any(is_given(text, stdin) for text in said):
        prints = "its login shell prints what it is given, as after `exec cat`, and"
    elif said:
        prints = f"its login shell prints {readable(said[0])!r} and"
    else:
        prints = "its login shell"
    ended = "" if done is None else f" (exit code {done.code})"
    told = f": {readable(errors[-1])}" if errors and not is_given(errors[-1], stdin) else ""
    return (
        f"{prints} does not run the command{ended}{told}. Look at the start files of the user's shell there (.bashrc, "
        ".cshrc): in a shell without a terminal they should print nothing and start nothing"
    )


def is_given(text: bytes, stdin: bytes) -> bool:
    start = stdin.strip()[:32]
    return bool(start) and (start in text or text in stdin)


def readable(text: bytes) -> str:
    return text.decode("utf-8", "replace")[:SHOWN]
