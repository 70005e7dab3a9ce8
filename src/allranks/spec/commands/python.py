"""`python`: its options become the variables that do the same in the ranks (`python --help-env`)."""

from __future__ import annotations

import re

from allranks.spec.commands._command import Command
from allranks.spec.problems import Wrong, shown

PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[0-9.]*")
SWITCHES = {
    "b": None,
    "B": ("PYTHONDONTWRITEBYTECODE", "1"),
    "d": ("PYTHONDEBUG", "1"),
    "O": ("PYTHONOPTIMIZE", "1"),
    "OO": ("PYTHONOPTIMIZE", "2"),
    "P": ("PYTHONSAFEPATH", "1"),
    "q": None,
    "s": ("PYTHONNOUSERSITE", "1"),
    "u": ("PYTHONUNBUFFERED", "1"),
    "v": ("PYTHONVERBOSE", "1"),
    "x": None,
}
"""Options without a value, and the variable that does the same; None for those that change no training."""
X = {
    "faulthandler": ("PYTHONFAULTHANDLER", "1"),
    "dev": ("PYTHONDEVMODE", "1"),
    "utf8": ("PYTHONUTF8", "1"),
    "tracemalloc": ("PYTHONTRACEMALLOC", "1"),
    "importtime": ("PYTHONPROFILEIMPORTTIME", "1"),
}
IGNORING = "iEIS"
"""They switch variables or site-packages off, and allranks' own hooks in the ranks with them."""


def is_python(word: str) -> bool:
    return bool(PYTHON.fullmatch(word))


def take(command: Command) -> None:
    """Takes `python` and its options from the front; `-m` and a module stay."""
    words = command.words
    program = words.pop(0)
    if "/" in program and "$" not in program:
        command.put("environment.python", command.here(program), program)
    while words and words[0].startswith("-") and words[0] not in ("-m", "-"):
        word = words.pop(0)
        if word[:2] in ("-W", "-X"):
            value = word[2:] or (words.pop(0) if words else "")
            spoken(command, word[:2], value)
        elif word == "-c":
            raise Wrong("python -c.", "the ranks start a script.", "write it into a file, and name that")
        else:
            switch(command, word)


def spoken(command: Command, option: str, value: str) -> None:
    if not value:
        raise Wrong(f"python {option}: nothing follows it.", do="its value")
    if option == "-W":
        before = command.env.get("PYTHONWARNINGS")
        command.env["PYTHONWARNINGS"] = f"{before},{value}" if before else value
        return
    name, _, given = value.partition("=")
    if name not in X:
        raise Wrong(f"python -X {shown(value)}.", "no variable does the same.", "leave it out")
    command.env[X[name][0]] = given or X[name][1]


def switch(command: Command, word: str) -> None:
    for letter in [word[1:]] if word[1:] in SWITCHES else word[1:]:
        if letter in IGNORING:
            raise Wrong(
                f"python {shown(word)}.", "allranks' part in the ranks would not be found.", "leave it out"
            )
        if letter not in SWITCHES:
            raise Wrong(f"python {shown(word)} is not an option that is known here.", do="leave it out")
        variable = SWITCHES[letter]
        # torchrun starts each rank with -u.
        if variable is not None and letter != "u":
            command.env[variable[0]] = variable[1]
