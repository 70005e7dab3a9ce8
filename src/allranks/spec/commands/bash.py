"""`bash train.sh`: the script is read on this machine, and the one command in it that trains takes its place."""

from __future__ import annotations

from allranks.spec.commands._command import Command, Form, Option, own
from allranks.spec.problems import Wrong


def read(command: Command) -> None:
    if command.said.pop("line", None) is not None:
        return
    if not command.words:
        raise Wrong("a shell without a script.", do="bash train.sh, or the training command itself")
    path, *arguments = command.words
    command.follow(command, path, arguments)


def line(command: Command, value: str, said: str) -> None:
    command.follow(command, "", [], line=value)
    command.said["line"] = value


FORM = Form(
    programs=("bash", "sh"),
    options={
        **{word: own(0) for word in ("x", "e", "u", "l", "ex", "xe", "eux")},
        "c": Option(1, line),
        "lc": Option(1, line),
    },
    read=read,
    prefixes=False,
)
