"""`uv run`: the Python of the project's environment."""

from __future__ import annotations

from allranks.spec.commands._command import Command, Form, Option, own, refused
from allranks.spec.problems import Wrong

PYTHON = ".venv/bin/python"
"""Where uv makes a project's environment, unless UV_PROJECT_ENVIRONMENT says another place."""

OTHER = ("a run's environment has its packages before the run.", "environment: {lock: …}")


def module(command: Command, value: str, said: str) -> None:
    command.module = True


class Uv(Form):
    def take(self, command: Command) -> None:
        if command.words[1:2] != ["run"]:
            raise Wrong("uv without run starts no training.", do="uv run train.py")
        del command.words[1]
        super().take(command)


def read(command: Command) -> None:
    command.put("environment.python", PYTHON, "uv run")
    if command.module:
        command.words.insert(0, "-m")
        command.module = False


FORM = Uv(
    programs=("uv",),
    options={
        "m": Option(0, module),
        "module": Option(0, module),
        "with": refused(*OTHER, takes=1),
        "extra": own(),
        "group": own(),
        "frozen": own(0),
        "locked": own(0),
        "no-sync": own(0),
        "active": refused(
            "which environment is active here, the nodes do not know.", "environment: {python: …}"
        ),
        "p": refused(*OTHER, takes=1),
        "python": refused(*OTHER, takes=1),
        "env-file": refused(
            "its values would be read here.", "env: {…}, and secrets by their names", takes=1
        ),
    },
    read=read,
)
