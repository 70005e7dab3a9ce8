"""The errors for words of a command whose value only a shell would know."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from allranks.spec.commands import Home, Pattern, Unknown
from allranks.spec.problems import Wrong, shown
from allranks.spec.shell_values import is_pattern


def refused_words(words: Iterable[object], undecided: Container[str]) -> Wrong | None:
    """One error that holds those of all these words, each variable once. None if all words are known."""
    found: dict[str, Wrong] = {}
    for word in words:
        if isinstance(word, Pattern):
            found.setdefault(word, pattern(word))
        if not isinstance(word, Home | Unknown):
            continue
        one = Unknown(word, "~") if isinstance(word, Home) else word
        for needs in one.every:
            found.setdefault(needs, unknown(Unknown(one, needs), undecided))
    if not found:
        return None
    first, *others = found.values()
    first.others = tuple(others)
    return first


def pattern(word: str) -> Wrong:
    return Wrong(
        f"{shown(word)}: only a shell knows which files it matches.",
        "no shell runs on the nodes: the ranks would get it as text.",
        "the files' names, or quotes around it if the text is meant",
    )


def unknown(word: Unknown, undecided: Container[str]) -> Wrong:
    """The error for a word that the ranks would get as it is written. `undecided` are variables that a script sets in
    an `if`, a loop or a function."""
    if word.needs[1:] in undecided:
        return Wrong(
            f"{shown(word)}: only a shell knows what the script sets {word.needs} to.",
            "it is set by `read`, or in an `if`, a loop or a function.",
            f"its value: {word.needs[1:]}=… before the training command",
        )
    if is_pattern(word.needs):  # of an array: `FILES=(data/*.json)`
        return pattern(word)
    if re.fullmatch(r"\$[1-9][0-9]*", word.needs):
        return Wrong(
            f"{shown(word)}: {word.needs} is an argument of the script, and it is not given.",
            "no shell runs on the nodes.",
            "allranks run --save-as run.yaml -- bash SCRIPT ARGUMENTS, or a default: ${"
            f"{word.needs[1:]}:-value}}",
        )
    if word.needs == "$ALLRANKS_OUTPUT_DIR":
        return Wrong(
            f"{shown(word)}: no shell runs on the nodes.",
            "the ranks would make a folder of that name.",
            'os.environ["ALLRANKS_OUTPUT_DIR"] in the script',
        )
    if word.needs == "~":
        return Wrong(
            f"{shown(word)}: which home ~ (or $HOME) is, only a shell knows.",
            "no shell runs on the nodes: the ranks would get it as text, and make a folder of that name.",
            "the whole path",
        )
    if word.needs.startswith(("$(", "`", "${")):
        return Wrong(
            f"{shown(word)}: only a shell knows the value of {shown(word.needs)}.",
            "no shell runs on the nodes.",
            "its value",
        )
    return Wrong(
        f"{shown(word)}: {word.needs} is not set.",
        "no shell runs on the nodes: the ranks would get it as text.",
        f"its value, `env {word.needs[1:]}=…` before the command, or env: {{{word.needs[1:]}: …}} in the run file; "
        "\\$ for a dollar that is meant",
    )
