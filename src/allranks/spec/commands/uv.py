"""`uv run`: the Python of the project's environment."""

from __future__ import annotations

from allranks.spec.commands._command import MODULE, Command, Form, each, own, refused

PYTHON = ".venv/bin/python"
"""Where uv makes a project's environment, unless UV_PROJECT_ENVIRONMENT says another place."""

OTHER = ("packages are installed before the run.", "environment: {lock: …}")


def read(command: Command) -> None:
    command.put("environment.python", PYTHON, "uv run")


FORM = Form(
    programs=("uv",),
    options={
        **each("m module", MODULE),
        **each("extra group", own()),
        **each("frozen locked no-sync", own(0)),
        **each("with p python", refused(*OTHER, takes=1)),
        "active": refused(
            "the nodes do not know which environment is active here.", "environment: {python: …}"
        ),
        "env-file": refused(
            "its values would be read here.", "env: {…}, and secrets by their names", takes=1
        ),
    },
    task=("run",),
    example="uv run train.py",
    read=read,
)
