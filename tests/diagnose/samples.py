"""For each pattern of a symptom a line that it finds: its literal, or the shortest text of its expression."""

from __future__ import annotations

import re
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from allranks.diagnose.symptom import Pattern

CATEGORIES = {
    codes.CATEGORY_DIGIT: "4",
    codes.CATEGORY_WORD: "w",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_NOT_SPACE: "n",
    codes.CATEGORY_NOT_DIGIT: "d",
    codes.CATEGORY_NOT_WORD: " ",
}
LETTERS = "ax1/ :'\"\\.[]()-=>\n"
"""What is tried for a set that is told by what is not in it."""


def shortest(tokens: Any) -> str:
    """The first branch and the fewest repetitions. What looks ahead or behind is passed over."""
    text = ""
    for code, value in tokens:
        if code is codes.LITERAL:
            text += chr(value)
        elif code is codes.NOT_LITERAL:
            text += "x" if chr(value) != "x" else "y"
        elif code is codes.ANY:
            text += " "
        elif code is codes.IN:
            text += _of_set(value)
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            text += shortest(value[2]) * value[0]
        elif code is codes.SUBPATTERN:
            text += shortest(value[3])
        elif code is codes.BRANCH:
            text += shortest(value[1][0])
    return text


def _of_set(items: Any) -> str:
    if items[0][0] is codes.NEGATE:
        left = re.compile("|".join(re.escape(one) for one in _members(items[1:])) or "(?!)")
        return next(letter for letter in LETTERS if not left.fullmatch(letter))
    return _members(items)[0]


def _members(items: Any) -> list[str]:
    found = []
    for code, value in items:
        if code is codes.LITERAL:
            found.append(chr(value))
        elif code is codes.RANGE:
            found.append(chr(value[0]))
        elif code is codes.CATEGORY:
            found.append(CATEGORIES[value])
    return found


def sample(pattern: Pattern) -> str | None:
    """None if the expression needs more than the shortest text has."""
    text = shortest(parser.parse(pattern.regex.pattern)) if pattern.regex else pattern.literal
    tried = (text, f"{text} {pattern.literal}", f"{pattern.literal} {text}", f"{text}{pattern.literal}")
    return next((line for line in tried if pattern.find(line)), None)
