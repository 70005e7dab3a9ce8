"""`bash train.sh`: the script is read on this machine, and the one command in it that trains takes its place."""

from __future__ import annotations

from allranks.spec.commands._command import Command, Form, Option, own
from allranks.spec.problems import Wrong, shown


def read(command: Command) -> None:
    if not command.words:
        raise Wrong("a shell without a script.", do="bash train.sh, or the training command itself")
    path, *arguments = command.words
    command.follow(command, path, arguments)


def line(command: Command, value: str, said: str) -> None:
    raise Wrong(f"{shown(said)}.", "a command of its own stands there.", "that command, without bash -c")


FORM = Form(
    programs=("bash", "sh"),
    options={**{word: own(0) for word in ("x", "e", "u", "l", "ex", "xe", "eux")}, "c": Option(1, line)},
    read=read,
    prefixes=False,
)
