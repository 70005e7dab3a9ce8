"""The expressions that `diagnose` looks for, and lines that are made to be hard for each of them.

A line is hard where an expression begins to match again and again and never ends: what its own first parts match,
repeated, and runs of the characters that its repetitions take.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from re import _constants as codes  # type: ignore[attr-defined]  # the parsed form has no public name
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import allranks.diagnose
from allranks.diagnose import claims, facts, modules

FILLERS = (
    "a",
    "A",
    " ",
    "7",
    ":",
    ".",
    "a ",
    "a.",
    "7 ",
    "x: ",
    "'/",
    "_",
    "[",
    "|",
    "\t",
    "the model is loaded ",
)
FOUND_BY_MATCH = {
    "prefixes._LAYER": "tried by `match` at one place of a line, never searched for",
    "lines._HEADED": "tried by `match` at the beginning of a line, never searched for",
}


def expressions() -> Iterator[tuple[str, str, re.Pattern]]:
    """(where it stands, the literal that a line must hold, the expression) of all of them."""
    for name, module in modules().items():
        for pattern in module.PATTERNS:
            if pattern.regex is not None:
                yield name, pattern.literal, pattern.regex
        claim = getattr(module, "CLAIM", None) or claims.Claim()
        for part in ("frame", "subject", "code"):
            if getattr(claim, part):
                yield f"{name}, {part}", "", re.compile(getattr(claim, part))
        complaint = getattr(module, "COMPLAINT", None)
        if complaint is not None:
            yield f"{name}, complaint", "", re.compile(complaint.subject)
    for pattern, _ in facts.FACTS:
        if pattern.regex is not None:
            yield "facts", pattern.literal, pattern.regex
    for info in pkgutil.walk_packages(allranks.diagnose.__path__, "allranks.diagnose."):
        short = info.name.rpartition(".")[2]
        for name, value in vars(importlib.import_module(info.name)).items():
            if isinstance(value, re.Pattern) and f"{short}.{name}" not in FOUND_BY_MATCH:
                yield f"{short}.{name}", "", value


def parsed(expression: re.Pattern) -> Sequence[tuple[Any, Any]]:
    return list(parser.parse(expression.pattern, expression.flags & ~re.UNICODE.value))


def has_endless_repeat(sequence: Sequence[tuple[Any, Any]]) -> bool:
    """Whether a part of it may be repeated without a limit."""
    for code, value in sequence:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT) and value[1] is codes.MAXREPEAT:
            return True
        if any(has_endless_repeat(part) for part in parts_of(code, value)):
            return True
    return False


def parts_of(code: Any, value: Any) -> list[Any]:
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return [value[2]]
    if code is codes.BRANCH:
        return list(value[1])
    if code is codes.SUBPATTERN:
        return [value[-1]]
    return [value[1]] if code in (codes.ASSERT, codes.ASSERT_NOT) else []


def example(sequence: Any, most: bool) -> str:
    """A text that these parts match (nearly: assertions are passed over), with as many repetitions as they take."""
    return "".join(example_of(code, value, most) for code, value in sequence)


def example_of(code: Any, value: Any, most: bool) -> str:
    if code is codes.LITERAL:
        return chr(value)
    if code in (codes.NOT_LITERAL, codes.IN, codes.ANY):
        return "a" if code is codes.ANY else first_of(code, value)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        low, high, inner = value
        return example(inner, most) * min(int(high) if most else low, 300)
    if code is codes.BRANCH:
        return example(value[1][-1], most)
    return example(value[-1], most) if code is codes.SUBPATTERN else ""


def first_of(code: Any, value: Any) -> str:
    """The first character of those that are tried which a class takes."""
    if code is codes.NOT_LITERAL:
        return "b" if value == ord("a") else "a"
    return next((c for c in "aA7 :.-_/[|\t'\"(),=<>#*" if takes(value, c)), "?")


CATEGORIES = {
    codes.CATEGORY_DIGIT: str.isdigit,
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    codes.CATEGORY_NOT_DIGIT: lambda c: not c.isdigit(),
    codes.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    codes.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}


def takes(items: Any, character: str) -> bool:
    point, hit = ord(character), False
    for code, value in items:
        if code is codes.LITERAL:
            hit = hit or point == value
        elif code is codes.RANGE:
            hit = hit or value[0] <= point <= value[1]
        elif code is codes.CATEGORY:
            hit = hit or bool(CATEGORIES[value](character))
    return hit != (items[0][0] is codes.NEGATE)


def recipes(literal: str, expression: re.Pattern) -> list[tuple[str, str]]:
    """(how a line begins, what fills it) of the lines that are hard for this expression."""
    sequence = parsed(expression)
    starts = {
        text
        for end in range(1, len(sequence) + 1)
        for most in (False, True)
        if (text := example(sequence[:end], most))
    }
    found = {(text, filler) for text in starts for filler in (*FILLERS[:4], text[-1])}
    found |= {("", text) for text in (*FILLERS, *starts, *(text + " " for text in starts))}
    found |= {("", literal), ("", literal + " ")} if literal else set()
    return sorted(found)


def line(recipe: tuple[str, str], literal: str, size: int) -> str:
    """A line of `size` characters that holds the literal."""
    text, filler = recipe
    return (text + filler * (size // len(filler) + 1))[: size - len(literal)] + literal


def worst_lines(literal: str, expression: re.Pattern, size: int) -> list[str]:
    return [line(recipe, literal, size) for recipe in recipes(literal, expression)]
