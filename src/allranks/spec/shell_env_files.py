"""Files of variables such as `.env`, which scripts read in two ways: `set -a; source .env`, and
`export $(grep -v '^#' .env | xargs)`."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Protocol

from allranks.core import BadInput
from allranks.spec.problems import Wrong, may_be_secret
from allranks.spec.shell import Statement, Word, statements
from allranks.spec.shell_assignments import assignment
from allranks.spec.shell_values import unresolved

COMMENT = re.compile(
    r"\^(?:\\s\*|\[\[:space:\]\]\*|\[ \\t\]\*| \*)?#|\^(?:\\s\*|\[\[:space:\]\]\*)?\$|\^#\|\^\$"
)
"""The patterns of `grep -v` that leave out comments and empty lines."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
IN_ENV = "env: {NAME: its value}, for each of its variables"


class Shell(Protocol):
    values: dict[str, str | list[str] | None]
    exported: dict[str, str]
    folder: str | None
    left_out: list[tuple[str, str, str]]
    reads: Callable[[str], str] | None

    def known(self, word: Word) -> list[str]: ...


def text_of(shell: Shell, path: str) -> str | None:
    """The text of a file of this machine; None if it cannot be read."""
    try:
        return None if shell.reads is None else shell.reads(path)
    except BadInput:
        return None


def holds_assignments(shell: Shell, path: str) -> bool:
    """Whether a file can be read here, and holds assignments alone."""
    text = text_of(shell, path)
    try:
        return text is not None and all(map(assigns, statements(text)))
    except Wrong:
        return False


def assigns(statement: Statement) -> bool:
    words = statement.words[statement.first == "export" :]
    is_simple = not statement.keywords and not statement.redirections and statement.end in ("", "\n", ";")
    return is_simple and bool(words) and all(map(assignment, words))


def leave_sourced(shell: Shell, path: str) -> None:
    """A note about the variables of a file that only `set -a` exports."""
    is_here = text_of(shell, path) is not None
    why = "it holds more than assignments" if is_here else "it cannot be read here"
    shell.left_out.append(
        (
            f"set -a; source {path}",
            f"{why}, and the nodes source it without `set -a`: variables that it does not export itself are lost.",
            IN_ENV,
        )
    )


def take(shell: Shell, found: Mapping[str, str], path: str) -> None:
    """Exports the variables of a file. A secret is left out: the notes and the run file would show it."""
    for name, value in found.items():
        shell.values[name] = value
        if may_be_secret(name, value):
            why = "by its name or its form it is a secret, and a run file holds none."
            fix = f"export {name} where allranks runs, and secrets: [{name}]"
            shell.left_out.append((f"{name} of {path}", why, fix))
        else:
            shell.exported[name] = value


def export_words(shell: Shell, word: Word, certain: bool) -> None:
    """`export $(cat .env | xargs)`: the variables of the file; a note if only a shell knows them."""
    texts = word.expanded(shell.values)
    if all(unresolved(text) is None for text in texts):
        names = [text for text in texts if text in shell.values]
        known = {text: shell.values[text] for text in names}
        pairs = dict(text.split("=", 1) for text in texts if "=" in text)
        path = "the command"
        found = {name: value for name, value in {**known, **pairs}.items() if isinstance(value, str)}
    else:
        path, found = file_of(shell, word)
    if found is None or not certain:
        why = "only a shell knows which variables it sets."
        if not certain:
            why = "it is in an `if`, a loop or a function, and only a shell knows whether it runs."
        shell.left_out.append((f"export {written(word)}", why, IN_ENV))
        return
    take(shell, {name: value for name, value in found.items() if NAME.fullmatch(name)}, path)


def written(word: Word) -> str:
    return "".join(part.text if part.kind != "variable" else f"${part.text}" for part in word.parts)


def file_of(shell: Shell, word: Word) -> tuple[str, dict[str, str] | None]:
    """The file in `$(cat FILE | xargs)` and its variables; None if it cannot be read, or for another command."""
    parts = [part for part in word.parts if part.kind != "text" or part.text]
    is_split = len(parts) == 1 and parts[0].kind == "opaque" and not parts[0].quoted
    inner = parts[0].text if is_split else ""
    inner = inner[2:-1] if inner.startswith("$(") else inner.strip("`")
    try:
        commands = statements(inner)
    except Wrong:
        return "", None
    path, splits, first = "", False, True
    for command in commands:
        words = [text for one in command.words for text in shell.known(one)]
        last = command is commands[-1]
        if command.keywords or command.redirections or command.end not in (("", "\n") if last else ("|",)):
            return "", None
        if first:
            path = words.pop() if words[:1] in (["cat"], ["grep"], ["egrep"]) and len(words) > 1 else ""
        if not path or not is_filter(words, first):
            return "", None
        splits = splits or words == ["xargs"]
        first = False
    if not path.startswith(("/", "~")):
        path = posixpath.normpath(posixpath.join(shell.folder or "", path))
    text = text_of(shell, path)
    return path, None if text is None else variables(text, splits)


def is_filter(words: list[str], first: bool) -> bool:
    """Whether a command of the pipe keeps all variables: `cat`, `grep -v '^#'`, `xargs`."""
    if words[:1] in (["grep"], ["egrep"]):
        options, patterns = words[1:-1], words[-1:]
        return options in (["-v"], ["-vE"], ["-Ev"], ["-v", "-E"], ["-E", "-v"], ["-v", "-e"]) and all(
            COMMENT.fullmatch(one) for one in patterns
        )
    if words[:1] == ["cat"]:
        return first and len(words) == 1
    return not first and words in (["xargs"], ["xargs", "-0"], ["xargs", "-d", "\\n"])


def variables(text: str, splits: bool) -> dict[str, str]:
    """The variables that the output sets. `xargs` alone takes quotes away; the shell splits its output at blanks."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    words: list[str] = []
    for line in lines:
        try:
            words += " ".join(shlex.split(line)).split() if splits else line.split()
        except ValueError:  # a quote that is not closed
            words += line.split()
    return dict(word.split("=", 1) for word in words if "=" in word)
