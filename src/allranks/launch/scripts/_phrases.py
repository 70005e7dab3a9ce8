"""Turns the words of a command line into the text of a shell script.

A word may contain a shell variable that is only known on the node, such as the folder of the scripts. It is between
NUL characters, which cannot occur in an argument, a variable or a path, so a user's text is never mistaken for one.
`bash` writes text in quotes and the variable as `"$name"`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from allranks.core import BadInput, Problem

NUL = "\0"
INDENT = "  "


def variable(name: str) -> str:
    """The shell variable `name` as part of a word."""
    return f"{NUL}{name}{NUL}"


HERE = variable("here")
"""The folder of the scripts. Each script finds it by its own path."""

TASK = variable("task")
"""The index of one combination of a sweep."""


def bash(word: str) -> str:
    """One word for bash, with any text: quotes, newlines, `$`, backticks."""
    pieces = word.split(NUL)
    if len(pieces) == 1:
        return quoted(word)
    return "".join(
        f'"${piece}"' if place % 2 else quoted(piece)
        for place, piece in enumerate(pieces)
        if piece or place % 2
    )


def quoted(text: str) -> str:
    """Text in quotes. Control characters become escapes, because people read scripts on terminals."""
    if not any((c < " " and c != "\n") or c == "\x7f" for c in text):
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return "$'" + "".join(f"\\x{ord(c):02x}" if c < " " or c == "\x7f" else c for c in escaped) + "'"


def line(words: Iterable[str]) -> str:
    return " ".join(bash(word) for word in words)


def array(name: str, words: Iterable[str]) -> str:
    """A bash array, one word per line."""
    return f"{name}=(\n" + "".join(f"{INDENT}{bash(word)}\n" for word in words) + ")\n"


def assignment(name: str, value: str) -> str:
    """`NAME=value` as one word for `env`."""
    return f"{name}={bash(value)}" if value else f"{name}="


def at_home(path: str) -> str:
    """A path whose `~` is the home folder on the node. Inside quotes a shell would not expand it."""
    return variable("HOME") + path[1:] if path == "~" or path.startswith("~/") else path


def refuse(saw: str, why: str, do: str) -> BadInput:
    return BadInput(Problem(saw, why, do))


def plain(text: str, what: str) -> str:
    """Text that a script in UTF-8 can pass to a program. Raises BadInput for NUL and for a lone surrogate."""
    if NUL in text:
        raise refuse(f"{what} holds a NUL character.", "no argument can hold one.", "the text without it")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise refuse(
            f"{what} holds half a character.", "it cannot be written as UTF-8.", "whole characters"
        ) from None
    return text


def matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None
