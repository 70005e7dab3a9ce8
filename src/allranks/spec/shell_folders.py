"""The folders of a script: where it lies, is started and goes, and which files it writes."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Protocol

from allranks.spec.commands import Unknown
from allranks.spec.shell import Word
from allranks.spec.shell_values import HERE, mark


class Shell(Protocol):
    """The shell that runs a command: the part of it that a command reads and changes."""

    values: dict[str, str | list[str] | None]
    folder: str | None
    activate: str | None
    sourced: tuple[str, list[str]] | None
    conda: str | None
    modules: list[str]
    exported: dict[str, str]
    left_out: list[tuple[str, str, str]]
    reads: Callable[[str], str] | None
    exports_all: bool

    def known(self, word: Word) -> list[str]: ...

    def leave(self, what: str, why: str, fix: str) -> None: ...


def from_here(path: str) -> str:
    """A path that keeps its meaning when the script changes its folder."""
    return path if path.startswith(("/", "~", HERE)) else f"{HERE}/{path}".removesuffix("/.")


def placed(text: str, folder: str | None) -> str:
    """A value as it is written in `folder`, which is relative to the script's start. A value is marked as unknown if
    that folder is of another kind."""
    if HERE not in text:
        return text
    if "://" in text:  # an address needs the whole path
        return text.replace(HERE, mark("$(pwd)"))
    if ":" in text:  # a list of folders
        return ":".join(placed(one, folder) for one in text.split(":"))
    folder = folder or "."
    if folder.startswith(("/", "~", "..")):
        return text.replace(HERE, mark("$(pwd)"))
    if text.startswith(HERE) and HERE not in text[1:]:
        return posixpath.relpath(text[1:].lstrip("/") or ".", folder)
    return text.replace(HERE, posixpath.relpath(".", folder))


def stand(shell: Shell, folder: str | list[str] | None) -> None:
    """The shell is in this folder now."""
    shell.values.update(dict.fromkeys(("$(pwd)", "`pwd`", "PWD"), folder))


def files_written(redirections: list[str]) -> list[str]:
    """The files that redirections write to, without devices."""
    targets = [one.lstrip("0123456789&>|") for one in redirections if ">" in one and ">&" not in one]
    return [one for one in targets if one and not one.startswith("/dev/")]


def change_folder(shell: Shell, target: str) -> None:
    if isinstance(target, Unknown):
        shell.leave(f"cd {target}", f"{target.needs} is not known here.", "train: {workdir: the folder}")
    elif target.startswith(("/", "~")):
        shell.folder = target
    else:
        shell.folder = posixpath.normpath(posixpath.join(shell.folder or "", target))
    stand(shell, None if shell.folder is None else from_here(shell.folder))
