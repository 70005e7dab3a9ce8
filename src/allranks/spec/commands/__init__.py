"""What people paste: each program that starts training is one file here, with what its options are in a run file.

A file has one `FORM`; files that begin with `_` and `python.py` are the parts they share. `reduce` takes one program
after the other from the front of a command until the training script is left.
"""

from __future__ import annotations

import importlib
import pkgutil
import posixpath
from functools import lru_cache

from allranks.spec.commands import llamafactory, python
from allranks.spec.commands._command import Command, Form, Note, no_script, take_variables
from allranks.spec.commands._words import Home, Pattern, Unknown

__all__ = [
    "Command",
    "Form",
    "Home",
    "Note",
    "Pattern",
    "Unknown",
    "forms",
    "no_script",
    "reduce",
    "take_variables",
]

SHARED = ("python",)
MOST = 12
"""Programs before one script: more is a loop."""


@lru_cache(maxsize=1)
def forms() -> dict[str, Form]:
    """Each form, by the programs and modules that it is called by."""
    found: dict[str, Form] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("_") or module.name in SHARED:
            continue
        form = importlib.import_module(f"{__name__}.{module.name}").FORM
        for name in (*form.programs, *form.modules):
            found[name] = form
    return found


def form_of(words: list[str]) -> Form | None:
    """The form of the program at the front of the words; a script (`run.py`, `./srun.sh`) is none."""
    name = posixpath.basename(words[0]) if words else ""
    return forms().get(name) if name and not name.endswith((".py", ".sh")) else None


def reduce(command: Command) -> None:
    """Takes launchers from the front of the command until its script, or `-m` and a module, is left. Raises Wrong."""
    for _ in range(MOST):
        words = command.words
        if words and python.is_python(words[0]):
            python.take(command)
            if len(words) > 1 and words[0] == "-m" and words[1] in forms() and "." in words[1]:
                words[:2] = [words[1]]
                forms()[words[0]].take(command)
            continue
        if words and words[0].endswith(".sh"):
            words.insert(0, "bash")
        form = form_of(words)
        if form is None:
            break
        form.take(command)
    if command.trainer is None:
        llamafactory.settle(command)
