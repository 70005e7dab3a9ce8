"""The output of commands that only take a path apart: `$(basename "$MODEL")`, `$(cd "$ROOT/.." && pwd)`."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from allranks.spec.shell_values import HERE, Values, unresolved


def path_of(commands: Sequence[tuple[list[str], str]], values: Values) -> str | None:
    """What these commands print, each with the operator that ends it. None if only a shell knows."""
    texts = [text for words, _ in commands for text in words]
    if any(unresolved(text) is not None or set(text) & set("*?[{") for text in texts):
        return None
    if len(commands) == 2 and commands[0][1] in ("&&", ";", "\n"):
        (go, _), (show, _) = commands
        if go[:1] != ["cd"] or show not in (["pwd"], ["pwd", "-P"], ["pwd", "-L"]):
            return None
        return absolute(operands(go[1:]), values)
    if len(commands) != 1 or commands[0][1] not in ("", "\n"):
        return None
    ((program, *rest), _) = commands[0] if commands[0][0] else ([""], "")
    if program == "basename":
        return last_part(operands(rest))
    if program == "dirname":
        return folder_of(operands(rest))
    if program == "readlink" and rest[:1] == ["-f"]:
        program, rest = "realpath", rest[1:]
    if program == "realpath" and is_folder(words := operands(rest)):
        return absolute(words, values)
    if program == "echo" and (rest[:1] == ["-n"] or not "".join(rest[:1]).startswith("-")):
        return " ".join(rest[rest[:1] == ["-n"] :])
    return None


def is_folder(words: list[str]) -> bool:
    """Whether it is a folder on the way, and no file that may be a link to another name."""
    return len(words) == 1 and (words[0].startswith(HERE) or posixpath.basename(words[0]) in (".", ".."))


def operands(words: list[str]) -> list[str]:
    """The words behind a program; none at all if there are options among them."""
    rest = words[1:] if words[:1] == ["--"] else words
    return [] if any(word.startswith("-") for word in rest) else rest


def last_part(words: list[str]) -> str | None:
    """`basename PATH [SUFFIX]`."""
    if len(words) not in (1, 2):
        return None
    name = posixpath.basename(words[0].rstrip("/"))
    if not name or name == HERE:
        return None
    ends = len(words) == 2 and name != words[1] and name.endswith(words[1])
    return name[: len(name) - len(words[1])] if ends and words[1] else name


def folder_of(words: list[str]) -> str | None:
    if len(words) != 1 or not words[0] or words[0] == HERE:
        return None
    path = words[0].rstrip("/")
    return posixpath.dirname(path).rstrip("/") or ("/" if words[0].startswith("/") else ".")


def absolute(words: list[str], values: Values) -> str | None:
    """The path in full, as if no part of it were a link. None for a path whose beginning is not known."""
    if len(words) != 1 or not words[0]:
        return None
    here = values.get("$(pwd)")
    path = words[0]
    if not path.startswith(("/", HERE)):
        if not isinstance(here, str) or unresolved(here) is not None:
            return None
        path = f"{here}/{path}"
    if not path.startswith(HERE):
        return posixpath.normpath(path)
    rest = posixpath.normpath(path[1:].lstrip("/") or ".")
    return HERE if rest == "." else f"{HERE}/{rest}"
