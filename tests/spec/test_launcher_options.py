"""What each option of each launcher takes and does: `tests/spec/said/launcher-options.txt` has a line for each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allranks.core import BadInput
from allranks.spec.commands import Command, forms, reduce
from allranks.spec.problems import Wrong
from tests import said

FORMS = {form.programs[0]: form for form in forms().values() if form.programs}
VALUES = (["3", "t.py", "--rest"], ["cpu", "a=b", "c", "t.py"])
"""What follows an option: where its own words end shows in what is left."""


def nothing(path: str) -> str:
    raise BadInput([])


def outcome(words: list[str]) -> str:
    command = Command(list(words), nothing, lambda *_, **__: None)
    try:
        reduce(command)
    except (Wrong, BadInput) as error:
        return f"refused: {error}".replace("\n", " ")
    about = {
        name: getattr(command, name)
        for name in ("words", "keys", "env", "counts", "launchers", "cpu", "module")
    }
    notes = [f"{note.id}: {note.saw}" for note in command.notes]
    return json.dumps({name: value for name, value in about.items() if value} | {"notes": notes}, default=str)


@pytest.mark.parametrize("program", sorted(FORMS))
def test_what_each_option_takes_and_does(program: str) -> None:
    words = [program, *FORMS[program].task]
    told = []
    for name in FORMS[program].options:
        option = f"-{name}" if len(name) == 1 else f"--{name}"
        told += [
            f"{program} {option} {' '.join(more)}: {outcome([*words, option, *more])}" for more in VALUES
        ]
    told += [f"{program} {' '.join(more)}: {outcome([*words, *more])}" for more in VALUES]
    said.hold(Path(__file__).parent / "said" / "launcher-options.txt", told)
