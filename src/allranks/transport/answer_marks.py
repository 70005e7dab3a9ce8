"""A command as a node's login shell takes it, and what of the output is the command's own.

sshd gives one line to whatever shell the user has there: sh, bash, zsh, csh, tcsh, fish. The start files of that shell
may print (`echo Welcome` in .bashrc) or never come to the line (`exec cat`, nologin). So the command says a mark before
its first word: what is before it is the shell's, and without it nothing is the command's.

They may also leave something in the background that keeps the output open, and then its end never comes. So a mark
stands after the last word, too, with the exit code. It is another one each time, so that no log that is read can hold
it.
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
"""What a shell may print before that; its start files are endless, or are no start files."""

SHOWN = 200

SAY = f"echo '{MARK.decode().strip()}'; "
DO = 'eval "$(printf %b "$1")"'
SPECIAL = {ord(letter): f"\\0{ord(letter):03o}" for letter in "\\'!\n\r#"}
"""What cannot be in single quotes in all of these shells: csh takes `!` from its history and no newline, fish a
backslash before a quote. `#` is the mark's first byte: so a shell that prints its commands does not print the mark."""


def new_end() -> str:
    """What the line of one call says after its command."""
    return f"#allranks {secrets.token_hex(8)}: the command has ended with "


def ended(end: str) -> re.Pattern[bytes]:
    """The end as it is printed, with the exit code as its group."""
    return re.compile(re.escape(end.encode()) + rb"(\d{1,3})\n")


def line(argv: Sequence[str], end: str) -> str:
    """The one line for the login shell. It starts sh, which is the same everywhere, and that starts `argv`: a program,
    also if sh has a builtin of its name."""
    do = f"(exec {shlex.join(argv)}); code=$?; echo '{end}'$code; exit $code"
    text = (SAY + do).translate(SPECIAL)
    return f"exec sh -c '{DO}' sh '{text}'"


def words(argv: Sequence[str]) -> list[str]:
    """The same for a launcher that starts no login shell, but whose site's prologue may print (srun)."""
    return ["sh", "-c", SAY + 'exec "$@"', "sh", *argv]


def own(node: str, done: Completed, stdin: bytes = b"", end: str | None = None) -> Completed:
    """What the command itself printed, and its exit code. Raises Unreachable if the shell never came to it."""
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
    """The lines that the command itself printed. Raises Unreachable as `own` does."""
    last = ended(end) if end else None
    before = b""
    marked = False
    async with contextlib.aclosing(lines):
        async for text in lines:
            over = last.search(text) if marked and last else None
            if over:
                if over.start():
                    yield text[: over.start()]
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


def never_came(noise: bytes, stdin: bytes, done: Completed | None = None) -> str:
    """Why nothing of the command is there. What was given to the command is never shown: a secret may be in it."""
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
